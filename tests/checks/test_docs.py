"""docs/checks.md has a section for each check of the code, and each check has a test that plants its fault."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from jobs_app.checks.telling import PAGE, error, warning

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = dict(re.findall(r"^## ([EW]\d{3})\n(.*?)(?=^## |\Z)", (ROOT / PAGE).read_text(), re.DOTALL | re.MULTILINE))
MAKERS = {"error": "E", "warning": "W"}


def told_in(path: Path) -> set[str]:
    """The numbers that a module of checks gives to `error` and `warning`."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    ours = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id in MAKERS]
    for node in ours:
        number = ast.literal_eval(node.args[0])
        assert re.fullmatch(MAKERS[node.func.id] + r"\d{3}", number), f"{path}:{node.lineno}"  # type: ignore[attr-defined]
    return {ast.literal_eval(node.args[0]) for node in ours}


def modules() -> list[Path]:
    app = ROOT / "jobs_app"
    return [*(app / "checks").glob("*.py"), *app.glob("*/checks.py")]


NUMBERS = {number for path in modules() for number in told_in(path)}


def test_every_check_has_its_section_and_every_section_its_check() -> None:
    assert sorted(SECTIONS) == sorted(NUMBERS)


def test_sections_stand_in_order() -> None:
    assert list(SECTIONS) == sorted(SECTIONS)


@pytest.mark.parametrize("number", sorted(NUMBERS))
def test_every_section_says_the_cause_and_the_cure(number: str) -> None:
    assert re.match(r"\n\S.*?\n\n\*\*Cure:\*\* \S", SECTIONS.get(number, ""), re.DOTALL), number


@pytest.mark.parametrize("number", sorted(NUMBERS))
def test_every_check_has_a_test_that_plants_its_fault(number: str) -> None:
    files = [*(ROOT / "tests").rglob("test_checks.py"), *(ROOT / "tests" / "checks").glob("test_*.py")]
    assert any(f'"jobs_app.{number}"' in path.read_text() for path in files)


def test_a_hint_ends_with_the_section_of_its_check() -> None:
    made = {make("X001", "It is so.", hint="Change it.").hint for make in (error, warning)}
    assert made == {"Change it. See docs/checks.md#x001."}


def test_no_check_is_made_in_another_way() -> None:
    """Else it would have no section."""
    makers = re.compile(r"checks\.(Warning|Error|Info)\(|\bError\(")
    others = [path.name for path in modules() if makers.search(path.read_text())]
    assert others == ["telling.py"]
