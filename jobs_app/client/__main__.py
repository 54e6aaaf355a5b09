"""The command line: `python3 -m client --url https://host/jobs/ module:handler`."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from .calls import JobsClient
from .worker import Handler, RemoteWorker


def main(arguments: Sequence[str] | None = None) -> int:
    parser = new_parser()
    options = vars(parser.parse_args(arguments))
    level = logging.DEBUG if options.pop("verbose") else logging.INFO
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s")
    try:
        client = JobsClient(options.pop("url"), _token(options.pop("token_file")))
        worker = RemoteWorker(client, _find(options.pop("handler")), **options)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, worker.on_signal)
    code = worker.run()
    if worker.left_running:
        logging.shutdown()
        sys.stdout.flush()
        os._exit(code)
    return code


def new_parser() -> argparse.ArgumentParser:
    about = "Pull jobs over HTTP and run them. The API token is read from JOBS_TOKEN or from --token-file."
    parser = argparse.ArgumentParser(prog=f"python3 -m {__package__}", description=about)
    add = parser.add_argument
    add("handler", metavar="module:handler", help="a function, found from the current directory, called with each job")
    add("--url", required=True, help="where the project includes jobs_app.urls, as https://host/jobs/")
    add("--queues", type=_names, default=(), help="queues or patterns, as leads,sync.*; default: all the token may")
    add("--job-types", type=_names, default=(), help="job types; likewise")
    add("--token-file", type=Path, help="a file with the API token and nothing else")
    add("--worker-id", default="", help="the name shown to operators; default: host and process")
    add("--lease", dest="lease_sec", type=int, help="seconds a silent worker keeps its job; default: the server's")
    add("--wait", dest="wait_sec", type=int, default=20, help="seconds a pull waits for a job; default: 20")
    add("--concurrency", type=int, default=1, help="jobs at once, each in a thread; default: 1")
    add("--grace", type=float, default=25, help="seconds running jobs get to end when stopping; default: 25")
    add("--once", action="store_true", help="work off what is due, then exit")
    add("-v", "--verbose", action="store_true", help="log more")
    return parser


def _names(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _token(file: Path | None) -> str:
    """Never an argument: the list of processes shows those to everybody on the host."""
    token = file.read_text().strip() if file else os.environ.get("JOBS_TOKEN", "").strip()
    if not token:
        raise ValueError("no API token: set JOBS_TOKEN, or name a file that has one with --token-file")
    return token


def _find(path: str) -> Handler:
    module, _, name = path.partition(":")
    found: Handler | None = getattr(import_module(module), name, None) if module and name else None
    if not callable(found):
        raise ValueError(f"{path} names no function; write it as module:function")
    return found


if __name__ == "__main__":
    sys.exit(main())
