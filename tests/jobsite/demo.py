"""`make demo`, without the making, as a process with a database of its own."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
STOP_SECONDS = 10
DATABASE = "demo.sqlite3"
KNOWN = ("runserver", "runworker", "runscheduler", "examples.", "jobs_app.client")


@dataclass
class Demo:
    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def output(self) -> str:
        return (self.folder / "log").read_text()

    def ended(self) -> set[tuple[str, str]]:
        """The job types of runs that have ended, each with how."""
        with closing(sqlite3.connect(f"file:{self.folder / DATABASE}?mode=ro", uri=True)) as database:
            return set(database.execute("SELECT DISTINCT job_type, state FROM jobs_app_jobrun"))

    def address(self) -> str:
        """Once it is there: '' before."""
        found = re.search(r"The admin +(http://\S+/)admin/", self.output)
        assert found or self.process.poll() is None, self.output
        return found[1] if found else ""

    def children(self) -> dict[str, int]:
        """Process ids by the name of their command."""
        listed = subprocess.run(
            ["ps", "-A", "-ww", "-o", "ppid=,pid=,args="], capture_output=True, text=True, check=True
        )
        rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
        mine = [(int(pid), args) for parent, pid, args in rows if int(parent) == self.process.pid]
        return {word: pid for pid, args in mine for word in args.split() if word.startswith(KNOWN)}


@contextmanager
def running_demo(folder: Path, **variables: str) -> Iterator[Demo]:
    """On a new SQLite file in this folder, until the end of the block."""
    environment = {
        **os.environ,
        "DATABASE_URL": f"sqlite:///{folder / DATABASE}",
        "DJANGO_SETTINGS_MODULE": "jobsite.settings",
        "DEBUG": "1",
        "PORT": "0",
        **variables,
    }
    command = [sys.executable, "-u", str(ROOT / "manage.py"), "demo"]
    with (folder / "log").open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield Demo(process, folder)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(STOP_SECONDS + 5)
