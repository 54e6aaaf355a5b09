"""What runs now and which of how many it is, one line each."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    def __init__(self, total: int, out: TextIO = sys.stderr) -> None:
        self._total = total
        self._out = out
        self._number = 0
        self._began = time.monotonic()
        self._step_began = self._began

    def begin(self, title: str) -> None:
        self._number += 1
        self._step_began = time.monotonic()
        width = len(str(self._total))
        self._say(f"[{self._number:>{width}}/{self._total}] {title} ... ")

    def end(self, outcome: str) -> None:
        self._say(f"{outcome} ({time.monotonic() - self._step_began:.0f} s)\n")

    def close(self) -> None:
        self._say(f"{self._number} of {self._total} measured in {time.monotonic() - self._began:.0f} s\n")

    def _say(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
