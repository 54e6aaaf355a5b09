"""The end of an attempt is told, and what the handler had in hand is let go."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

from jobs_app import job
from jobs_app.signals import job_finished
from tests.waiting import until
from tests.worker.harness import finished, working

pytestmark = pytest.mark.django_db(transaction=True)


class Large:
    """What a handler reads, and nobody should keep for it."""


@pytest.mark.parametrize("is_heard", [False, True], ids=["unheard", "heard"])
def test_what_a_failed_handler_had_in_hand_goes_with_it(is_heard: bool, uncollected: None) -> None:
    alive: list[weakref.ref[Large]] = []
    raised: list[str] = []

    def hear(ended: Any, **kwargs: Any) -> None:
        raised.append(repr(ended.raised))

    @job(max_attempts=1)
    def fail() -> None:
        large = Large()
        alive.append(weakref.ref(large))
        raise ValueError("no")

    if is_heard:
        job_finished.connect(hear)
    try:
        with working():
            assert finished(fail.enqueue()) == ["failed"]
            until(lambda: alive[0]() is None)
    finally:
        job_finished.disconnect(hear)
    assert raised == ["ValueError('no')"] * is_heard
