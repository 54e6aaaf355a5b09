"""The specification names every line once, and each test that it names shows that line."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LAST_LINES = {"S0": (47, 19), "S1": (25, 11), "S2": (34, 8), "S3": (22, 8), "S4": (27, 6)}  # plain lines, R lines
SCENARIOS = {"A0": (1, 2, 3, 4, 5, 7, 8), "A1": range(1, 6), "A2": (1, 2, 3, 5, 6), "A3": (1, 2, 3, 5, 6)}
SCENARIOS |= {"A4": (1, 2, 4, 5, 6)}
SHOWN = ("built", "differs")


class Row(NamedTuple):
    number: str
    status: str
    rule: str
    tests: str


@cache
def rows() -> list[Row]:
    lines = (ROOT / "docs" / "specification.md").read_text().splitlines()
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines if re.match(r"\| [SA]\d", line))
    return [Row(*row) for row in cells]


@cache
def marked_tests() -> dict[str, set[str]]:
    """The numbers that each `file::function` is marked with."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found[f"{path.relative_to(ROOT).as_posix()}::{node.name}"] = _numbers_of(node)
    return found


def _numbers_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    calls = (mark for mark in function.decorator_list if isinstance(mark, ast.Call))
    marks = (call for call in calls if ast.unparse(call.func) == "pytest.mark.spec")
    return {ast.literal_eval(number) for mark in marks for number in mark.args}


def test_every_line_has_one_row() -> None:
    expected = [f"{system}.{number}" for system, (last, _) in LAST_LINES.items() for number in range(1, last + 1)]
    expected += [f"{system}.R{number}" for system, (_, last) in LAST_LINES.items() for number in range(1, last + 1)]
    expected += [f"{system}.{number}" for system, numbers in SCENARIOS.items() for number in numbers]
    assert Counter(row.number for row in rows()) == Counter(expected)


def test_every_row_has_a_status_and_a_rule() -> None:
    assert {row.number for row in rows() if row.status not in (*SHOWN, "not ours") or not row.rule} == set()


def test_what_is_built_or_differs_names_tests_that_are_marked_with_its_number() -> None:
    for row in rows():
        named = re.findall(r"`(tests/\S+::\w+)`", row.tests)
        assert bool(named) == (row.status in SHOWN), row
        for test in named:
            assert row.number in marked_tests().get(test, ()), f"{test} is not there, or not marked with {row.number}"


def test_what_a_test_shows_is_built_or_differs() -> None:
    shown = {row.number for row in rows() if row.status in SHOWN}
    stray = {test: numbers - shown for test, numbers in marked_tests().items() if numbers - shown}
    assert stray == {}
