"""Figures as a table, as JSON and as charts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.figures import JOBS_PER_SECOND, MILLISECONDS, Figure
from benchmarks.results import Results, ResultsFile, file_name


def figure(case: str, value: float, **said: Any) -> Figure:
    usual = {"work": "growth", "program": "jobs_app", "store": "postgres", "unit": JOBS_PER_SECOND}
    return Figure(case=case, value=value, **usual | said)


def row(results: Results, case: str) -> str:
    return next(line for line in results.table().splitlines() if f"| {case} " in line)


def test_a_case_is_told_as_a_share_of_the_one_beside_it() -> None:
    results = Results()
    for plain, with_history in ((100, 80), (300, 90), (200, 150)):
        results.add([figure("plain", plain), figure("history", with_history, beside="plain")])
    assert results.share_of(("growth", "postgres", "history", "jobs_app")) == 0.45
    assert "80 to 150" in row(results, "history")
    assert "0.45" in row(results, "history")


def test_a_small_share_keeps_digits_that_say_something() -> None:
    results = Results()
    results.add([figure("plain", 30_000), figure("remote", 261, beside="plain")])
    assert "| 0.0087 |" in row(results, "remote")


def test_a_share_needs_the_same_program_and_store() -> None:
    results = Results()
    results.add([figure("plain", 100, program="other"), figure("history", 80, beside="plain")])
    assert results.share_of(("growth", "postgres", "history", "jobs_app")) is None


def test_programs_of_one_case_stand_together() -> None:
    results = Results()
    for program in ("jobs_app", "other"):
        results.add([figure("first", 1, program=program), figure("second", 1, program=program)])
    assert [(each["case"], each["program"]) for each in results.cases("growth")] == [
        ("first", "jobs_app"),
        ("first", "other"),
        ("second", "jobs_app"),
        ("second", "other"),
    ]


def test_a_drain_that_was_ended_early_is_marked() -> None:
    results = Results()
    results.add([figure("plain", 12, note="ended after 8 s with 96 jobs")])
    assert "12* " in row(results, "plain")
    assert results.cases("growth")[0]["notes"] == ["ended after 8 s with 96 jobs"]


def test_a_failure_is_told_and_stored_with_its_work(tmp_path: Path) -> None:
    results = Results()
    results.failed("growth", "growth, plain", RuntimeError("no server"))
    assert "failed: growth, plain: RuntimeError: no server" in results.table()
    ResultsFile(tmp_path / "ours.json", {}).store("growth", results, side_by_side=False)
    stored = json.loads((tmp_path / "ours.json").read_text())["growth"]
    assert stored["failures"][0]["error"] == "RuntimeError: no server"


def test_to_measure_one_work_again_leaves_the_others(tmp_path: Path) -> None:
    file = ResultsFile(tmp_path / "ours.json", {"machine": {"cores": 2}})
    results = Results()
    results.add([figure("plain", 1), figure("idle", 2, work="drain"), figure("busy", 3, work="drain")])
    file.store("growth", results, side_by_side=False)
    file.store("drain", results, side_by_side=False)
    stored = json.loads((tmp_path / "ours.json").read_text())
    assert {work: [case["case"] for case in each["cases"]] for work, each in stored.items()} == {
        "growth": ["plain"],
        "drain": ["idle", "busy"],
    }
    assert stored["drain"]["machine"] == {"cores": 2}
    assert [path.name for path in tmp_path.glob("*.svg")] == ["ours-drain-on-postgres-rate.svg"]  # a bar alone is none


@pytest.mark.parametrize(("unit", "slow", "fast"), [(JOBS_PER_SECOND, 1, 9), (MILLISECONDS, 9, 1)])
def test_side_by_side_the_best_comes_first(unit: str, slow: float, fast: float) -> None:
    results = Results()
    results.add([figure("plain", slow, program="slow", unit=unit), figure("plain", fast, program="fast", unit=unit)])
    [chart] = results.charts("growth", side_by_side=True).values()
    assert chart.index("fast on") < chart.index("slow on")


def test_a_title_becomes_the_name_of_a_file() -> None:
    assert file_name("drain on redis+postgres, 1 process, jobs/s") == "drain-on-redis-postgres-1-process-rate"
