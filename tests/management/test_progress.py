"""How far long work is."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management.base import OutputWrapper

from jobs_app.management.output import Output
from jobs_app.management.progress import Progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def progress(words: StringIO, clock: Clock, total: int | None = None) -> Progress:
    return Progress(Output(OutputWrapper(StringIO()), OutputWrapper(words), as_json=False), "Work", total, clock=clock)


def test_without_a_terminal_it_is_a_line_every_ten_seconds(clock: Clock) -> None:
    words = StringIO()
    with progress(words, clock, 50) as shown:
        for second in range(31):
            clock.now = second
            shown.show(second)
    assert words.getvalue().splitlines() == [
        "Work: 10 of 50, 20%, 10s",
        "Work: 20 of 50, 40%, 20s",
        "Work: 30 of 50, 60%, 30s",
    ]
    assert "\r" not in words.getvalue()


def test_short_work_says_nothing(clock: Clock) -> None:
    for words in (StringIO(), Terminal()):
        with progress(words, clock, 5) as shown:
            shown.show(5)
        assert words.getvalue() == ""


def test_on_a_terminal_it_is_a_bar_that_is_gone_afterwards(clock: Clock) -> None:
    words = Terminal()
    with progress(words, clock, 50) as shown:
        clock.now = 1
        shown.show(25)
    drawn = words.getvalue().split("\r\x1b[K")
    assert drawn == ["", f"Work [{'#' * 15}{'.' * 15}] 25 of 50, 50%, 1.0s", ""]
    assert max(map(len, drawn)) < 80


def test_a_bar_is_not_drawn_more_often_than_an_eye_sees(clock: Clock) -> None:
    words = Terminal()
    with progress(words, clock, 100) as shown:
        for done in range(100):
            clock.now += 0.01
            shown.show(done)
    assert 8 <= words.getvalue().count("Work") <= 10


def test_an_unknown_total_counts_up(clock: Clock) -> None:
    words, terminal = StringIO(), Terminal()
    for stream in (words, terminal):
        with progress(stream, clock) as shown:
            clock.now += 90
            shown.show(1200)
    assert words.getvalue() == "Work: 1200, 1m 30s\n"
    assert "Work 1200, 1m 30s" in terminal.getvalue()


def test_more_than_was_counted_is_no_more_than_all(clock: Clock) -> None:
    words = StringIO()
    with progress(words, clock, 10) as shown:
        clock.now = 10
        shown.show(12)
    assert words.getvalue() == "Work: 12 of 10, 100%, 10s\n"
