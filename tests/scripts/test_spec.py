"""What counts as shown, and what the report says of it."""

from __future__ import annotations

import json
from pathlib import Path

from scripts import spec

STATUSES = {"S1.1": "built", "S1.2": "differs", "S1.3": "built", "S1.4": "open"}
RESULTS = {
    "SQLite": {"S1.1": {"t::a": "passed"}, "S1.2": {"t::b": "skipped"}, "S1.3": {"t::c": "passed", "t::d": "failed"}},
    "PostgreSQL": {"S1.1": {"t::a": "passed"}, "S1.2": {"t::b": "passed"}, "S9.9": {"t::z": "passed"}},
}


def test_only_a_passing_test_shows_a_line_and_one_that_fails_takes_it_back() -> None:
    assert [number for number in STATUSES if spec.is_shown(RESULTS["SQLite"], number)] == ["S1.1"]


def test_the_table_tells_for_each_line_where_it_was_shown() -> None:
    shown, _, mixed, unshown = spec.table(STATUSES, RESULTS)

    assert shown.split() == ["S1.1", "built", "SQLite", "PostgreSQL", "t::a"]
    assert mixed.split() == ["S1.3", "built", "-", "-", "t::c", "and", "1", "more"]
    assert unshown.split() == ["S1.4", "open", "-", "-", "no", "test"]


def test_the_summary_names_what_is_missing_what_fails_and_what_is_unknown() -> None:
    assert spec.summary(STATUSES, RESULTS) == [
        "2 built, 1 differs, 1 open; 4 lines in all",
        "SQLite: 1 of 3 shown; not shown: S1.2, S1.3",
        "PostgreSQL: 2 of 3 shown; not shown: S1.3",
        "with a failing test: S1.3",
        "marked but not in the page: S9.9",
    ]


def test_lines_are_the_rows_of_the_page_and_not_mentions_in_them(tmp_path: Path) -> None:
    page = tmp_path / "specification.md"
    page.write_text(
        "As S0.1 says:\n| number | status |\n|---|---|\n| S2.R1 | not ours | as S1.9 |\n| A1.1 | built | x |\n"
    )

    assert spec.statuses_in(page) == {"S2.R1": "not ours", "A1.1": "built"}


def test_results_are_turned_from_tests_to_lines(tmp_path: Path) -> None:
    path = tmp_path / "sqlite.json"
    path.write_text(json.dumps({"t::a": {"numbers": ["S1.1", "S1.2"], "outcome": "passed"}}))

    assert spec.read({"SQLite": path}) == {"SQLite": {"S1.1": {"t::a": "passed"}, "S1.2": {"t::a": "passed"}}}


def test_what_uses_no_database_is_shown_for_each_that_had_a_run(tmp_path: Path) -> None:
    paths = {name: tmp_path / f"{name}.json" for name in ("SQLite", "PostgreSQL", "Oracle")}
    pure = {"numbers": ["S1.1"], "outcome": "passed", "anywhere": True}
    stored = {"numbers": ["S1.2"], "outcome": "passed", "anywhere": False}
    paths["SQLite"].write_text(json.dumps({"t::pure": pure, "t::stored": stored}))
    paths["PostgreSQL"].write_text(json.dumps({"t::other": stored}))

    assert spec.read(paths) == {
        "SQLite": {"S1.1": {"t::pure": "passed"}, "S1.2": {"t::stored": "passed"}},
        "PostgreSQL": {"S1.1": {"t::pure": "passed"}, "S1.2": {"t::other": "passed"}},
        "Oracle": {},
    }


def test_a_database_without_a_run_has_shown_nothing(tmp_path: Path) -> None:
    assert spec.read({"SQLite": tmp_path / "missing.json"}) == {"SQLite": {}}
