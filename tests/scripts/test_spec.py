"""What counts as shown, and what the report says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import spec

RESULTS = {
    "SQLite": {"S1.1": {"t::a": "passed"}, "S1.2": {"t::b": "skipped"}, "S1.3": {"t::c": "passed", "t::d": "failed"}},
    "PostgreSQL": {"S1.1": {"t::a": "passed"}},
}


def test_only_a_passing_test_shows_a_line_and_one_that_fails_takes_it_back() -> None:
    shown = [number for number in ("S1.1", "S1.2", "S1.3", "S1.4") if spec.is_shown(RESULTS["SQLite"], number)]

    assert shown == ["S1.1"]


def test_the_table_tells_for_each_line_where_it_was_shown() -> None:
    shown, unshown = spec.table(["S1.1", "S1.4"], RESULTS)

    assert shown.split() == ["S1.1", "SQLite", "PostgreSQL", "t::a"]
    assert unshown.split() == ["S1.4", "-", "-", "no", "test"]


def test_the_summary_names_what_is_missing_and_what_fails() -> None:
    assert spec.summary(["S1.1", "S1.2", "S1.3"], RESULTS) == [
        "1 of 3 shown on SQLite",
        "1 of 3 shown on PostgreSQL",
        "without a passing test: S1.2, S1.3",
        "with a failing test: S1.3",
    ]


def test_numbers_are_read_once_each_in_their_order(tmp_path: Path) -> None:
    page = tmp_path / "specification.md"
    page.write_text("S2.R1 and S1.20, then A1.1, S2.R1 again; not XS1.1 nor S1.")

    assert spec.numbers_in(page) == ["S2.R1", "S1.20", "A1.1"]


@pytest.mark.parametrize("name", ["there.json", "missing.json"])
def test_results_are_turned_from_tests_to_lines(tmp_path: Path, name: str) -> None:
    (tmp_path / "there.json").write_text(json.dumps({"t::a": {"numbers": ["S1.1", "S1.2"], "outcome": "passed"}}))

    expected = {"S1.1": {"t::a": "passed"}, "S1.2": {"t::a": "passed"}} if name == "there.json" else {}
    assert spec.outcomes_in(tmp_path / name) == expected
