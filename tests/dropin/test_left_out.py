"""Where there is no Python for a Django, the end of the run says so; nothing passes in silence."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from scripts.matrix import OLDEST_PYTHON
from tests.dropin import environments
from tests.dropin.environments import LEFT_OUT, interpreter_for
from tests.dropin.notice import pytest_terminal_summary


class Terminal:
    def __init__(self, *reasons: str) -> None:
        self.lines: list[str] = []
        self.stats = {"skipped": [SimpleNamespace(longrepr=("file.py", 7, f"Skipped: {each}")) for each in reasons]}

    def line(self, text: str, **style: Any) -> None:
        self.lines.append(text)

    section = line


def test_a_django_without_a_python_is_told_once_at_the_end() -> None:
    reason = f"{LEFT_OUT} was run on Django 6.1: no Python."
    terminal = Terminal(reason, "another reason", reason)
    pytest_terminal_summary(terminal)
    assert terminal.lines == ["DROP-IN TESTS", reason]


def test_a_run_that_left_nothing_out_says_nothing() -> None:
    terminal = Terminal("another reason")
    pytest_terminal_summary(terminal)
    assert terminal.lines == []


@pytest.mark.parametrize("django", OLDEST_PYTHON)
def test_an_interpreter_is_looked_for_only_where_ours_is_too_old(django: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "find_python", lambda version: f"python{version}")
    monkeypatch.setattr(environments, "RUNNING", (3, 11))
    oldest = OLDEST_PYTHON[django]
    assert interpreter_for(django) == (sys.executable if oldest == "3.11" else f"python{oldest}")
    monkeypatch.setattr(environments, "find_python", lambda version: None)
    assert (interpreter_for(django) is None) == (oldest != "3.11")
