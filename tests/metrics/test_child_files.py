"""Several processes that count, and one that reads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from jobs_app.metrics.child_files import VARIABLE, ChildFiles
from tests.metrics.scraping import Page

COUNT = """
from jobs_app.counters import BatchHistogram
from prometheus_client import Counter, Gauge
done = Counter("done_total", "", ["kind"]).labels("a")
took = BatchHistogram("took", "", buckets=(1, 10))
slots = Gauge("slots", "", multiprocess_mode="livesum")
done.inc(3); took.observe_all([0.5, 5, 50]); slots.set(4)
import os; print(os.getpid(), flush=True); input()
"""


@pytest.fixture
def files() -> Iterator[ChildFiles]:
    made = ChildFiles()
    yield made
    made.close()
    assert not made.folder.exists()


@pytest.fixture
def children(files: ChildFiles) -> Iterator[list[subprocess.Popen[str]]]:
    with files.environment():
        command = [sys.executable, "-c", COUNT]
        started = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
        ]
    for child in started:
        assert child.stdout is not None
        assert int(child.stdout.readline()) == child.pid
    yield started
    for child in started:
        child.communicate("")


def page(files: ChildFiles) -> Page:
    registry = CollectorRegistry()
    registry.register(files)
    return Page(generate_latest(registry).decode())


def test_counts_are_sums_and_stay_when_a_process_ends(files: ChildFiles, children: list[subprocess.Popen[str]]) -> None:
    def seen() -> tuple[float | None, ...]:
        told = page(files)
        return (
            told.value("done_total", kind="a"),
            told.value("took_count"),
            told.value("took_bucket", le="1.0"),
            told.value("took_sum"),
            told.value("slots"),
        )

    assert seen() == (6, 6, 2, 111, 8)
    for left, child in enumerate(children, 1):
        child.kill()
        child.wait()
        files.sweep()
        assert seen()[:4] == (6, 6, 2, 111)
        assert seen()[4] == (4 if left == 1 else None)
    assert sorted(each.name for each in files.folder.iterdir()) == ["counter_ended.db", "histogram_ended.db"]


def test_a_file_that_was_cut_off_costs_only_itself(
    files: ChildFiles, children: list[subprocess.Popen[str]], caplog: pytest.LogCaptureFixture
) -> None:
    (files.folder / "counter_999999998.db").touch()  # killed as it made it
    (files.folder / "histogram_999999999.db").write_bytes(b"nonsense" * 8)
    living = files.folder / f"counter_{os.getpid()}.db"
    living.touch()
    assert page(files).value("done_total", kind="a") == 6
    assert sorted(file.name for file in files.folder.glob("*_99*")) == []
    assert caplog.text.count("cannot be read") == 2
    living.unlink()


def test_the_environment_is_as_it_was(files: ChildFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    with files.environment():
        assert os.environ[VARIABLE] == str(files.folder)
    assert VARIABLE not in os.environ
    monkeypatch.setenv(VARIABLE, "of the host")
    with files.environment():
        pass
    assert os.environ[VARIABLE] == "of the host"
