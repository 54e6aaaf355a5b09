"""The wheel of this checkout, built once for all who look into it or install it."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "jobs_app", "jobsite", "tests")


def built_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = shared_folder(tmp_path_factory) / "wheel"
    with one_at_a_time(folder):
        return next(folder.glob("jobs_app-*.whl"), None) or _build(folder, tmp_path_factory.mktemp("copy"))


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all processes of this run, and of no other run."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # closing it lets go
        yield


def _build(folder: Path, copy: Path) -> Path:
    """From a copy, since a build leaves files beside its sources."""
    for source in SOURCES:
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, copy / source, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, copy)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    built = subprocess.run([*build, "-w", str(folder), str(copy)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return next(folder.glob("jobs_app-*.whl"))
