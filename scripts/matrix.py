"""Runs the suite on every supported Python and Django that can be had here, on both databases, and says what it ran.

The whole of it on the oldest pair and on the newest; on those between without the files that take longest, which start
hundreds of processes: on two cores that is an hour in place of two. Pairs can be named: `3.12-6.0 3.13-6.0`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
OLDEST_PYTHON = {"5.2": "3.11", "6.0": "3.12", "6.1": "3.12"}  # of each Django, as far as we support it
RUNS = {"SQLite": [], "PostgreSQL": ["-m", "jobsite.localpg", "run", "--unsafe", "--", "{python}"]}
ONCE = {"SQLite": [], "PostgreSQL": ["--needing-database"]}  # what uses no database is not run a second time
SIDE_BY_SIDE = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]
CORNERS = ("3.11-5.2", "3.13-6.1")


@dataclass(frozen=True)
class Pair:
    python: str
    django: str

    @property
    def name(self) -> str:
        return f"{self.python}-{self.django}"

    @property
    def is_corner(self) -> bool:
        return self.name in CORNERS

    @property
    def folder(self) -> Path:
        return ROOT / ".local" / "matrix" / f"python{self.python}-django{self.django}"

    @property
    def executable(self) -> str:
        return str(self.folder / "bin" / "python")


def find_python(version: str) -> str | None:
    """An interpreter of exactly this version that really starts, from PATH or from pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)
    for candidate in [shutil.which(f"python{version}"), *map(str, found)]:
        if candidate and _version_of(candidate) == version:
            return candidate
    return None


def _version_of(python: str) -> str:
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


def prepare(pair: Pair, python: str) -> bool:
    if not pair.folder.exists():
        subprocess.run([python, "-m", "venv", str(pair.folder)], check=True)
    pip = [pair.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    wanted = ["-r", "requirements-dev.txt", f"Django~={pair.django}.0"]
    return subprocess.run([*pip, *wanted], cwd=ROOT, check=False).returncode == 0


def run_suite(pair: Pair, database: str) -> bool:
    print(f"==== Python {pair.python}, Django {pair.django}, {database} ====", flush=True)
    wrapper = [part.format(python=pair.executable) for part in RUNS[database]]
    part = ONCE[database] if pair.is_corner else [*ONCE[database], "--without-longest"]
    command = [pair.executable, *wrapper, "-m", "pytest", "-q", *SIDE_BY_SIDE, *part]
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def run_pair(pair: Pair, python: str) -> list[str]:
    """One line for each thing that was tried."""
    name = f"Python {pair.python}, Django {pair.django}, {'all' if pair.is_corner else 'without the longest'}"
    if not prepare(pair, python):
        return [f"FAILED   {name}: could not be installed"]
    return [f"{'passed' if run_suite(pair, database) else 'FAILED':<8} {name}, {database}" for database in RUNS]


def main(chosen: Sequence[str] = ()) -> int:
    report: list[str] = []
    for version in PYTHONS:
        python = find_python(version)
        if python is None:
            report.append(f"not run  Python {version}: no such interpreter on PATH or in pyenv")
            continue
        for django, oldest in OLDEST_PYTHON.items():
            if chosen and f"{version}-{django}" not in chosen:
                continue
            if _key(version) < _key(oldest):
                report.append(f"not run  Python {version}, Django {django}: this Django needs Python {oldest}")
            else:
                report.extend(run_pair(Pair(version, django), python))
    print("\n".join(["", "==== matrix ====", *report]))
    return 1 if any(line.startswith("FAILED") for line in report) else 0


def _key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
