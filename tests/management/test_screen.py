"""When lines are painted, and how."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app.management.screen import may_color, painted, size
from jobs_app.management.top_frame import Line


@pytest.mark.parametrize(
    ("options", "variable", "is_terminal", "expected"),
    [
        ({}, "", True, True),
        ({}, "", False, False),
        ({"no_color": True}, "", True, False),
        ({}, "1", True, False),
        ({"force_color": True}, "", False, True),
    ],
)
def test_colors_are_for_terminals_whose_owner_wants_them(
    options: dict[str, Any], variable: str, is_terminal: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", variable)
    assert may_color(options, is_terminal=is_terminal) is expected


def test_only_lines_with_a_tone_are_painted() -> None:
    lines = [Line("well"), Line("lost", "bad"), Line("late", "warn"), Line("QUEUE", "bold"), Line("", "bold")]
    assert painted(lines, in_color=False) == ["well", "lost", "late", "QUEUE", ""]
    assert painted(lines, in_color=True) == [
        "well",
        "\x1b[31mlost\x1b[0m",
        "\x1b[33mlate\x1b[0m",
        "\x1b[1mQUEUE\x1b[0m",
        "",
    ]


def test_a_terminal_has_the_size_that_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "33")
    monkeypatch.setenv("LINES", "11")
    assert size() == (33, 11)
