"""`manage.py jobs health`."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError

from jobs_app.health import Health
from tests.management.calling import jobs, jobs_json
from tests.management.ending import ended


def test_a_process_that_is_well(tmp_path: Path) -> None:
    Health().write(tmp_path / "beat")
    assert jobs("health", "--file", tmp_path / "beat", "--ready") == ("ok\n", "")
    assert jobs_json("health", "--file", tmp_path / "beat") == {"schema": 1, "ok": True, "reason": ""}


def test_one_that_is_not_ends_with_1_and_says_why(tmp_path: Path) -> None:
    Health(["jobs-claimer stands still"]).write(tmp_path / "beat")
    for formats in ("table", "json"):
        end = ended("health", "--file", tmp_path / "beat", "--format", formats)
        assert (end.code, "jobs-claimer stands still" in f"{end}") == (1, True)


@pytest.mark.parametrize("arguments", [[], ["--file", "a", "--url", "b"], ["--file", "a", "--live", "--ready"]])
def test_one_place_and_one_question(arguments: list[str]) -> None:
    with pytest.raises(CommandError, match=r"required|not allowed"):
        jobs("health", *arguments)
