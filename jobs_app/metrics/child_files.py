"""What several processes count, read by the one that looks after them.

Each writes into files of a folder, as prometheus_client does for many processes. Those of processes that ended are
added up in one: a worker that replaces its processes every thousand jobs does not fill the disk.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from prometheus_client.core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from jobs_app.logs import event

logger = logging.getLogger("jobs_app.metrics")

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
SUMMED = ("counter", "histogram", "summary")


class ChildFiles(Collector):
    def __init__(self) -> None:
        self._temporary = TemporaryDirectory(prefix="jobs-worker-")
        self.folder = Path(self._temporary.name)
        self._one_at_a_time = threading.Lock()  # a sum that is half done is not read

    @contextmanager
    def environment(self) -> Iterator[None]:
        """Processes that are started meanwhile write here."""
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = str(self.folder)
        try:
            yield
        finally:
            del os.environ[VARIABLE]
            if before is not None:
                os.environ[VARIABLE] = before

    def collect(self) -> Iterable[Metric]:
        with self._one_at_a_time:
            self._sweep()
            files = [str(file) for file in self.folder.glob("*.db") if file.stat().st_size]  # none that is just made
            return list(MultiProcessCollector.merge(files))

    def sweep(self) -> None:
        """What processes counted that have ended stays counted; what they showed of themselves goes. Also of those that
        a handler started, or that ran one job apart: they write here too."""
        with self._one_at_a_time:
            self._sweep()

    def _sweep(self) -> None:
        for file in self.folder.glob("*.db"):
            kind, _, pid = file.stem.rpartition("_")
            if pid.isdecimal() and not psutil.pid_exists(int(pid)):
                if kind in SUMMED:
                    self._add_up(file, self.folder / f"{kind}_ended.db")
                file.unlink()

    def _add_up(self, file: Path, to: Path) -> None:
        """One that was cut off as it was made has nothing to add, and must not keep us from the others."""
        try:
            _add(file, to)
        except Exception as error:
            facts = event("counts_lost", file=file.name, error=str(error))
            logger.warning("what an ended process counted cannot be read: %s: %s", file.name, error, extra=facts)

    def close(self) -> None:
        self._temporary.cleanup()


def _add(file: Path, to: Path) -> None:
    sums = MmapedDict(str(to))
    try:
        for key, value, at, _ in MmapedDict.read_all_values_from_file(str(file)):
            before, _ = sums.read_value(key)
            sums.write_value(key, before + value, at)
    finally:
        sums.close()
