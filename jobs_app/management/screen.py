"""A terminal that is drawn anew in its place, and is as it was before when that ends, however it ends."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from django.core.management.base import OutputWrapper

from jobs_app.management.top_frame import Line

ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"  # the other screen, no cursor, and lines that are cut and not wrapped
LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
HOME, END_OF_LINE, BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
TONES = {"bad": "\x1b[31m", "warn": "\x1b[33m", "bold": "\x1b[1m"}
PLAIN = "\x1b[0m"
QUIT = b"qQ"
SIZE = (120, 50)  # where there is no terminal


def size() -> tuple[int, int]:
    """Its columns and lines."""
    found = shutil.get_terminal_size(SIZE)
    return max(1, found.columns), max(1, found.lines)


def painted(lines: Sequence[Line], *, in_color: bool) -> list[str]:
    return [
        f"{TONES[line.tone]}{line.text}{PLAIN}" if in_color and line.tone and line.text else line.text for line in lines
    ]


def may_color(options: dict[str, Any], *, is_terminal: bool) -> bool:
    if options.get("no_color") or os.environ.get("NO_COLOR"):
        return False
    return is_terminal or bool(options.get("force_color"))


class Screen:
    def __init__(self, terminal: OutputWrapper) -> None:
        self._terminal = terminal
        self._keys: int | None = None  # where keys are read; None: nobody can press one

    @contextmanager
    def open(self) -> Iterator[Screen]:
        with ExitStack() as kept:
            kept.enter_context(_signals())
            self._keys = kept.enter_context(_single_keys())
            kept.callback(self._write, LEAVE)
            self._write(ENTER)
            yield self

    def draw(self, lines: Sequence[str]) -> None:
        """Over what was there: a screen that is cleared first flickers."""
        self._write(HOME + "\r\n".join(f"{line}{END_OF_LINE}" for line in lines) + BELOW)

    def is_left_within(self, seconds: float) -> bool:
        """Wait so long; True as soon as somebody presses q."""
        if self._keys is None:
            time.sleep(seconds)
            return False
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self._keys], [], [], left)[0]:
                return False
            pressed = os.read(self._keys, 64)
            if not pressed or any(key in QUIT for key in pressed):  # nothing: the terminal is gone
                return True
        return False

    def _write(self, text: str) -> None:
        self._terminal.write(text, ending="")
        self._terminal.flush()


@contextmanager
def _single_keys() -> Iterator[int | None]:
    """Keys come as they are pressed, and are not shown. Ctrl-C stays what it is."""
    if not sys.stdin or not sys.stdin.isatty():
        yield None
        return
    import termios  # not on every system, and every verb is imported on each
    import tty

    keys = sys.stdin.fileno()
    before = termios.tcgetattr(keys)
    tty.setcbreak(keys)
    try:
        yield keys
    finally:
        termios.tcsetattr(keys, termios.TCSADRAIN, before)


@contextmanager
def _signals() -> Iterator[None]:
    """A TERM ends it as an exception does, so that what was changed is changed back; and Ctrl-Z, which would leave it
    changed, does nothing."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    wanted: dict[int, Any] = {signal.SIGTERM: end, signal.SIGTSTP: signal.SIG_IGN}
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
