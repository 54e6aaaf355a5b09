"""What several processes count, read by the one that looks after them.

Each writes into files of a folder, as prometheus_client does for many processes. Those of processes that ended are
added up in one: a worker that replaces its processes every thousand jobs does not fill the disk.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from prometheus_client.core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

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
            return list(MultiProcessCollector(None, path=str(self.folder)).collect())

    def has_ended(self, pid: int) -> None:
        """What it counted stays counted; what it showed of itself goes."""
        with self._one_at_a_time:
            for kind in SUMMED:
                own = self.folder / f"{kind}_{pid}.db"
                if own.exists():
                    _add(own, self.folder / f"{kind}_ended.db")
                    own.unlink()
            for gauge in self.folder.glob(f"gauge_*_{pid}.db"):
                gauge.unlink()

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
