"""A remote worker in a thread of the test."""

from __future__ import annotations

import threading
from typing import Any

from jobs_app.client import JobsClient, RemoteJob, RemoteWorker


class Held:
    """A handler that begins, and goes on when the test says so."""

    def __init__(self) -> None:
        self.job: RemoteJob | None = None
        self.has_begun = threading.Event()
        self.may_go_on = threading.Event()

    def __call__(self, job: RemoteJob) -> str:
        self.job = job
        self.has_begun.set()
        assert self.may_go_on.wait(30)
        return "went on"

    def begun(self) -> RemoteJob:
        assert self.has_begun.wait(30)
        assert self.job is not None
        return self.job


class WorkerThread:
    def __init__(self, client: JobsClient, handler: Any, **options: Any) -> None:
        self.handler = handler
        self.worker = RemoteWorker(client, handler, **{"queues": ["leads"], "worker_id": "w-1", **options})
        self._code: int | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._code = self.worker.run()

    def code(self) -> int | None:
        """How it ended; waits until it has."""
        self._thread.join(30)
        assert not self._thread.is_alive(), "the worker did not end"
        return self._code

    def stop(self) -> int | None:
        self.worker.stop()
        return self.code()

    def end(self) -> None:
        if isinstance(self.handler, Held):
            self.handler.may_go_on.set()
        self.stop()
