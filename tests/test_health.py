"""The probe that is a program."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from jobs_app.health import Health, read_health, why_not

PROBE = """
import runpy, sys
sys.argv[1:] = ["--file", sys.argv[1]]
try:
    runpy.run_module("jobs_app.health", run_name="__main__")
except SystemExit as end:
    print(end.code, "django" in sys.modules)
"""


def test_a_file_says_what_its_process_said(tmp_path: Path) -> None:
    file = tmp_path / "beat"
    Health(unready=["it takes no more jobs"]).write(file)
    assert why_not(file=file) == ""
    assert why_not(file=file, ready=True) == "it takes no more jobs"
    Health(["jobs-claimer stands still"], ["x"]).write(file)
    assert why_not(file=file) == "jobs-claimer stands still"
    assert [each.name for each in tmp_path.iterdir()] == ["beat"]


def test_a_file_that_is_old_missing_or_strange_is_no_good_news(tmp_path: Path) -> None:
    file = tmp_path / "beat"
    assert "cannot be read" in why_not(file=file)
    for text in ("", "[]", "{}x", json.dumps({"more": 1})):
        file.write_text(text)
        assert "cannot be read" in why_not(file=file), text
    Health().write(file)
    os.utime(file, (0, 0))
    assert "was last written" in read_health(file).still[0]


@pytest.fixture
def port() -> Iterator[int]:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_live = self.path == "/livez"
            self.send_response(200 if is_live else 503)
            self.end_headers()
            self.wfile.write(b"ok" if is_live else b"it takes no more jobs\n")

        def log_message(self, *given: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_a_port_is_asked(port: int) -> None:
    assert why_not(url=f"http://127.0.0.1:{port}/") == ""
    assert why_not(url=f"http://127.0.0.1:{port}", ready=True) == "it takes no more jobs"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "127.0.0.1", "nonsense://x"])
def test_a_port_where_nobody_is_is_told(url: str) -> None:
    assert "does not answer" in why_not(url=url)


def test_it_loads_no_project(tmp_path: Path) -> None:
    file = tmp_path / "beat"
    Health().write(file)
    done = run([sys.executable, "-c", PROBE, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "ok\n0 False\n"
