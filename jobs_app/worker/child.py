"""The first steps of a worker process under a supervisor: Django, and then everything that needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import django
from django.utils.module_loading import import_string

from jobs_app.runtime.stopping import StopSignals
from jobs_app.tasks_backend.discovery import load_urls


def run_child(
    options: Mapping[str, Any],
    beside: Sequence[str],
    parent: int,
    log: tuple[int, str],
    ready: Connection,
    health_file: str | None,
) -> None:
    """What was handed over is plain values: this module and all it names is imported before Django is set up."""
    signals = StopSignals()
    signals.install()
    django.setup()
    load_urls()
    _work(options, beside, parent, log, ready, health_file, signals)


def _work(
    options: Mapping[str, Any],
    beside: Sequence[str],
    parent: int,
    log: tuple[int, str],
    ready: Connection,
    health_file: str | None,
    signals: StopSignals,
) -> None:
    from jobs_app import logs
    from jobs_app.metrics.exposure import Exposure
    from jobs_app.worker.loop import WorkerOptions
    from jobs_app.worker.process import exit_soon, run_worker

    logs.configure(*log)
    code = run_worker(
        WorkerOptions(**options),
        signals,
        beside=[import_string(path)() for path in beside],
        parent=parent,
        ready=lambda: _tell(ready),
        shown=Exposure(heartbeat_file=None if health_file is None else Path(health_file)).shown,
    )
    exit_soon(code)


def _tell(ready: Connection) -> None:
    with suppress(OSError):  # the supervisor is gone; the worker will see that too, and end in order
        ready.send_bytes(b"ready")
