"""The file in which remote workers note how long their calls took."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

PAIR = struct.Struct("<dd")  # of one job: its pull and its report, in milliseconds


class Calls:
    """Of the jobs of one drain, by as many workers as there are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(b"")

    def pulls(self) -> list[float]:
        return [pull for pull, _ in self._pairs()]

    def reports(self) -> list[float]:
        return [report for _, report in self._pairs()]

    def _pairs(self) -> list[tuple[float, ...]]:
        """A worker that is stopped leaves nothing half written: each pair is one small write."""
        return list(PAIR.iter_unpack(self.path.read_bytes()))


def notebook(path: str) -> Callable[[float, float], None]:
    """Notes a pair behind all others, those of other processes among them."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND)

    def note(pull: float, report: float) -> None:
        os.write(file, PAIR.pack(pull, report))

    return note
