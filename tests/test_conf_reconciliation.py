"""What reconciliation may do by itself is set, and checked."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app.conf import parse
from jobs_app.errors import SettingsInvalid


def test_only_expired_leases_unless_it_is_set() -> None:
    assert parse({}).reconcile_applies == ("expired",)
    assert list(parse({"RECONCILE_APPLIES": ["lost", "stuck"]}).reconcile_applies) == ["lost", "stuck"]
    assert list(parse({"RECONCILE_APPLIES": ()}).reconcile_applies) == []


@pytest.mark.parametrize("given", ["expired", ["unserved"], [7], None])
def test_what_it_cannot_apply_is_refused(given: Any) -> None:
    with pytest.raises(SettingsInvalid, match="RECONCILE_APPLIES"):
        parse({"RECONCILE_APPLIES": given})
