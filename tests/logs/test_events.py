"""Every line tells an event by name, and docs/logging.md has all the names."""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "jobs_app"
PAGE = (ROOT / "docs" / "logging.md").read_text()
LEVELS = ("debug", "info", "warning", "error", "exception", "critical", "log")
RESERVED = {*vars(logging.makeLogRecord({})), "message", "asctime", "worker"}


def calls() -> Iterator[tuple[str, ast.Call]]:
    """All calls of the app, each with where it is. The client of remote workers runs elsewhere, and logs by itself."""
    for path in APP.rglob("*.py"):
        if "client" not in path.relative_to(APP).parts:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def is_log_call(node: ast.Call) -> bool:
    function = node.func
    is_method = isinstance(function, ast.Attribute) and function.attr in LEVELS
    return is_method and ast.unparse(function.value) == "logger"  # type: ignore[attr-defined]


def events() -> dict[str, ast.Call]:
    found = ((where, node) for where, node in calls() if ast.unparse(node.func) == "event")
    return dict(found)


def names_in_code() -> set[str]:
    return {ast.literal_eval(node.args[0]) for node in events().values()}


def names_on_page() -> list[str]:
    return re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)


@pytest.mark.spec("S0.R16")
def test_every_line_tells_an_event() -> None:
    silent = [where for where, node in calls() if is_log_call(node) and "extra" not in {k.arg for k in node.keywords}]
    assert silent == []


@pytest.mark.spec("S0.R16")
def test_the_page_has_the_names_of_the_code_each_once_in_order() -> None:
    assert names_on_page() == sorted(names_in_code())


def test_no_fact_has_a_name_that_logging_keeps_for_itself() -> None:
    taken = {where: {k.arg for k in node.keywords} & RESERVED for where, node in events().items()}
    assert {where: names for where, names in taken.items() if names} == {}


def test_no_fact_is_one_that_may_be_secret() -> None:
    told = {keyword.arg for node in events().values() for keyword in node.keywords}
    assert told & {"payload", "meta", "result", "token"} == set()
