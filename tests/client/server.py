"""A server that answers remote workers by a script, and remembers all that they sent."""

from __future__ import annotations

import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.waiting import until

API_TOKEN = "jobs_abcd1234_canary-of-the-api-token"
LEASE_TOKEN = "0b5f9c1e-canary-of-the-lease-token"
PULL, REPORT, TRIGGER, LEAVE = "pull_job", "report_results", "functions/trigger-job", "leave"

CUT = "cut"  # the request is read, and the connection closed without an answer
EMPTY = {"job": None, "reason": "empty", "stopped": False}
DRAINING = {**EMPTY, "reason": "draining"}


def problem(status: int, detail: str, **headers: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    body = {"type": "about:blank", "title": "No", "status": status, "detail": detail}
    return status, body, {name.replace("_", "-"): value for name, value in headers.items()}


def a_job(**fields: Any) -> dict[str, Any]:
    """The answer of a pull that brings one."""
    told = {
        "job_id": "0190f5a0-0000-7000-8000-000000000001",
        "job_type": "scrape",
        "queue": "leads",
        "subject": "shop-7",
        "payload": {"city": "Bremen"},
        "meta": {"batch": 3},
        "token": LEASE_TOKEN,
        "attempt": 1,
        "max_attempts": 5,
        "cursor": "page-4",
        "progress_count": 40,
        "result_count": 30,
        "target_count": 100,
        "lease_sec": 180,
        "lease_expires_at": "2026-01-01T00:03:00Z",
        "timeout_sec": None,
        "queued_at": "2026-01-01T00:00:00Z",
        "slot_at": None,
    }
    return {"job": {**told, **fields}, "reason": "", "stopped": False}


def taken(**fields: Any) -> dict[str, Any]:
    """The answer of a report."""
    told = {"ok": True, "added": 0, "duplicates": 0, "lease_expires_at": None, "done": False, "cancel_requested": False}
    return {**told, "idempotent": False, "state": "running", "done_reason": "", **fields}


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes
    peer: tuple[str, int]  # a new one for each connection


Answer = Any  # a body, or (status, body, headers), or CUT, or a function of the request that gives one of them


class ScriptedServer:
    """What is not in the script is answered as an idle server would."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.is_hasty = False  # closes each connection after an answer, without a word of it
        self._script: dict[str, deque[Answer]] = defaultdict(deque)
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler_class())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/jobs/"
        threading.Thread(target=self._http.serve_forever, args=[0.01], daemon=True).start()

    def will_answer(self, call: str, *answers: Answer) -> None:
        """These in turn."""
        self._script[call].extend(answers)

    def forget(self) -> None:
        """What was still to be answered."""
        self._script.clear()

    def sent(self, call: str) -> list[dict[str, Any]]:
        return [request.body for request in list(self.requests) if request.path.endswith(f"/api/{call}")]

    def wait_for(self, call: str, fact: Callable[[dict[str, Any]], Any] = bool, count: int = 1) -> list[dict[str, Any]]:
        """The bodies of the calls for which `fact` holds, once there are so many."""
        return until(
            lambda: len(found := [body for body in self.sent(call) if fact(body)]) >= count and found, every=0.01
        )

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer_to(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            script = self._script[request.path.partition("/api/")[2]]
            answer = script.popleft() if script else _usual
        return answer(request) if callable(answer) else answer

    def _handler_class(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                request = Request(
                    self.command, self.path, dict(self.headers), json.loads(raw), raw, self.client_address
                )
                self._give(server.answer_to(request))

            def _give(self, answer: Answer) -> None:
                if answer == CUT:
                    self.close_connection = True
                    return
                status, body, headers = answer if isinstance(answer, tuple) else (200, answer, {})
                text = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
                self.close_connection = server.is_hasty

            def log_message(self, *_: Any) -> None: ...

        return Handler


def _usual(request: Request) -> Answer:
    if request.path.endswith(PULL):
        return EMPTY
    if request.path.endswith(LEAVE):
        return {"ok": True}
    if request.path.endswith(TRIGGER):
        return {"runId": "0190f5a0-0000-7000-8000-000000000002", "status": "queued", "created": True}
    if request.body.get("release"):
        return taken(done=True, state="queued")
    if request.body.get("done"):
        return taken(done=True, state="succeeded", done_reason="worker_done")
    if "error" in request.body:
        return taken(done=True, state="failed" if request.body.get("permanent") else "queued")
    return taken(added=len(request.body.get("items", ())))
