"""A remote worker as a test plays it: single requests, with a token that may do what it must."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.test import Client

from jobs_app.lifecycle import control
from jobs_app.tokens import SCOPES

ROOT = "/jobs/api/"


class Speaker:
    """One token and whoever holds it."""

    def __init__(
        self, *scopes: str, name: str = "scrapers", queues: Sequence[str] = (), job_types: Sequence[str] = ()
    ) -> None:
        made = control.create_token(name, "ann", scopes=scopes or SCOPES, queues=queues, job_types=job_types)
        self.token, self.text = made.token, made.text
        self.client = Client(headers={"Authorization": f"Bearer {made.text}"}, raise_request_exception=True)

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(ROOT + path, query)

    def post(self, path: str, body: Any = None, **more: Any) -> Any:
        return self.client.post(ROOT + path, json.dumps({} if body is None else body), "application/json", **more)

    def pull(self, worker: str = "w1", **asked: Any) -> dict[str, Any]:
        """The answer, which must be one."""
        answer = self.post("pull_job", {"worker_id": worker, **asked})
        assert answer.status_code == 200, answer.content
        told: dict[str, Any] = answer.json()
        return told

    def job(self, worker: str = "w1", **asked: Any) -> dict[str, Any]:
        """One that must be there."""
        told = self.pull(worker, **asked)
        assert told["job"] is not None, told
        job: dict[str, Any] = told["job"]
        return job

    def report(self, job: dict[str, Any], **said: Any) -> Any:
        return self.post("report_results", {"job_id": job["job_id"], "token": job["token"], **said})

    def told(self, job: dict[str, Any], **said: Any) -> dict[str, Any]:
        """The answer to a report that must be taken."""
        answer = self.report(job, **said)
        assert answer.status_code == 200, answer.content
        told: dict[str, Any] = answer.json()
        return told


def items(*keys: str) -> list[dict[str, Any]]:
    return [{"key": key, "data": {"name": key}} for key in keys]
