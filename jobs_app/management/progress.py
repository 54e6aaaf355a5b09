"""How far long work is: a bar where a terminal shows it, else a line every ten seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self

from jobs_app import durations
from jobs_app.management.output import Output

LINE_SECONDS = 10.0
DRAW_SECONDS = 0.1
BAR = 30  # characters


class Progress:
    """To be entered around the work, and told what is done. Without a total it counts up."""

    def __init__(
        self, out: Output, doing: str, total: int | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = out
        self._doing = doing
        self._total = total
        self._clock = clock
        self._began = self._told_at = clock()
        self._is_drawn = False
        self.done = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._is_drawn:
            self._out.redraw("")

    def show(self, done: int) -> None:
        """So much is done by now."""
        self.done = done
        now, is_watched = self._clock(), self._out.is_watched
        if now - self._told_at < (DRAW_SECONDS if is_watched else LINE_SECONDS):
            return
        self._told_at = now
        if is_watched:
            self._is_drawn = True
            self._out.redraw(f"{self._doing} {self._bar()}{self._told(now)}")
        else:
            self._out.note(f"{self._doing}: {self._told(now)}")

    def _told(self, now: float) -> str:
        share = f" of {self._total}, {self._percent}%" if self._total else ""
        return f"{self.done}{share}, {durations.rough(now - self._began)}"

    def _bar(self) -> str:
        if not self._total:
            return ""
        full = BAR * self._percent // 100
        return f"[{'#' * full}{'.' * (BAR - full)}] "

    @property
    def _percent(self) -> int:
        """More may come than was counted."""
        return min(100, 100 * self.done // (self._total or 1))
