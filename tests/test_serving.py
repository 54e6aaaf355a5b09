"""Which queues a worker serves."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from jobs_app.registry import SYSTEM_QUEUE
from jobs_app.serving import Serving


@pytest.mark.parametrize(
    ("queues", "excluded", "served"),
    [
        ((), (), ["mail", "mail.bulk", "sync"]),
        (("mail",), (), ["mail"]),
        (("mail*",), (), ["mail", "mail.bulk"]),
        ((), ("mail.*", "sync"), ["mail"]),
        (("mail*",), ("*.bulk",), ["mail"]),
        (("nothing",), ("*",), []),
        ((SYSTEM_QUEUE,), (), []),
    ],
)
def test_queues_are_served_by_name_or_pattern_and_the_apps_own_by_a_slot_beside(
    queues: Sequence[str], excluded: Sequence[str], served: list[str]
) -> None:
    serves = Serving(queues, excluded)
    assert [queue for queue in ("mail", "mail.bulk", "sync", SYSTEM_QUEUE) if serves(queue)] == served
