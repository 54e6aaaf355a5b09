"""A probe that is a program: `python -m jobs_app.health --file F` or `--url U`. It ends with 0, or with 1 and a reason.

The standard library alone, and no Django: a probe that loads a project each time takes seconds of its host.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

OLD_SECONDS = 30.0  # of a file that is written each second
PATIENCE_SECONDS = 5.0
HTTP_OK = 200


class Health(NamedTuple):
    """What is wrong with a process, in words; nothing where all is well."""

    still: Sequence[str] = ()  # then it is not alive
    unready: Sequence[str] = ()  # then it is alive, and has no use yet or any more

    @property
    def is_ready(self) -> bool:
        return not (self.still or self.unready)

    def write(self, path: Path) -> None:
        """In one step: nobody reads half of it."""
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_text(json.dumps(self._asdict()), encoding="utf-8")
        beside.replace(path)


def read_health(path: Path) -> Health:
    """As the process that writes it last said. One that says nothing any more stands still."""
    try:
        age = time.time() - path.stat().st_mtime
        told = Health(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        return Health([f"{path} cannot be read: {error}"])
    return told if age <= OLD_SECONDS else Health([f"{path} was last written {age:.0f} s ago"])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--file", type=Path, help="the --heartbeat-file of a worker or scheduler")
    where.add_argument("--url", help="where its --metrics-port is, as http://127.0.0.1:9090")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--live", action="store_true", help="does it move? This, if nothing is said")
    what.add_argument("--ready", action="store_true", help="does it move, reach its database, and take jobs?")


def why_not(*, file: Path | None = None, url: str | None = None, ready: bool = False) -> str:
    """What is wrong, in words; empty: nothing is."""
    if file is not None:
        health = read_health(file)
        return "; ".join([*health.still, *(health.unready if ready else [])])
    return _of_port(f"{str(url).rstrip('/')}/{'readyz' if ready else 'livez'}")


def _of_port(url: str) -> str:
    try:
        with urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            return "" if answer.status == HTTP_OK else f"{url} answers {answer.status}"
    except HTTPError as answer:
        with answer:
            return answer.read(1000).decode("utf-8", "replace").strip() or f"{url} answers {answer.code}"
    except (URLError, OSError, ValueError) as error:
        return f"{url} does not answer: {error}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m jobs_app.health", description=__doc__)
    add_arguments(parser)
    asked = parser.parse_args()
    wrong = why_not(file=asked.file, url=asked.url, ready=asked.ready)
    sys.stdout.write(f"{wrong or 'ok'}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
