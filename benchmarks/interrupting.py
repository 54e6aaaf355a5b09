"""How a benchmark ends that was told to stop: everything that it started ends on the way out."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType

STOPPED = 130  # the exit code, as of any command that Ctrl-C has ended


def exit_code_of(main: Callable[[], int]) -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return main()
    except KeyboardInterrupt:
        return STOPPED


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
