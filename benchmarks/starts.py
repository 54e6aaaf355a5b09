"""The file in which handlers note when they started: see `record` in `benchmarks/peers/program.py`."""

from __future__ import annotations

import array
from pathlib import Path

BYTES = 8  # one little-endian int64 of nanoseconds for each job
PORTION = 4096  # jobs looked at in one read


class Starts:
    """The starts of jobs 0 to `jobs` - 1. Others may note theirs behind them and are not waited for."""

    def __init__(self, path: Path, jobs: int) -> None:
        self.path = path
        self._jobs = jobs
        self._seen = 0  # all jobs below this have started
        path.unlink(missing_ok=True)
        with path.open("wb") as file:
            file.truncate(BYTES * jobs)

    def have_all_begun(self) -> bool:
        """Looks at each job about once over the whole drain: a look at all of them each time would slow it down."""
        while self._seen < self._jobs:
            portion = self._read(self._seen, min(PORTION, self._jobs - self._seen))
            try:
                self._seen += portion.index(0)
            except ValueError:
                self._seen += len(portion)
            else:
                return False
        return True

    def has_begun(self, number: int) -> bool:
        return bool(self._read(number, 1)[0])

    def first(self) -> int | None:
        """Also of the jobs that are not waited for."""
        with self.path.open("rb") as file:
            return min(filter(None, _numbers(file.read())), default=None)

    def all(self) -> list[int]:
        """In the order of the jobs; 0 for one that has not started."""
        return list(self._read(0, self._jobs))

    def _read(self, first: int, count: int) -> array.array[int]:
        with self.path.open("rb") as file:
            file.seek(BYTES * first)
            return _numbers(file.read(BYTES * count))


def _numbers(data: bytes) -> array.array[int]:
    numbers = array.array("q")
    numbers.frombytes(data)
    return numbers
