"""The wheel holds the app and all it needs at run time, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "jobs_app", "jobsite", "tests")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in a wheel built from a copy, since a build leaves files beside its sources."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    for source in SOURCES:
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, copy / source)
        else:
            shutil.copy(ROOT / source, copy)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    built = subprocess.run([*build, "-w", str(out), str(copy)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return set(zipfile.ZipFile(next(out.glob("jobs_app-*.whl"))).namelist())


def test_the_wheel_has_every_file_of_the_app(wheel: set[str]) -> None:
    files = [path for path in (ROOT / "jobs_app").rglob("*") if path.is_file() and "__pycache__" not in path.parts]

    assert {path.relative_to(ROOT).as_posix() for path in files} <= wheel


def test_the_wheel_is_typed_and_can_migrate(wheel: set[str]) -> None:
    assert "jobs_app/py.typed" in wheel
    assert "jobs_app/migrations/0001_initial.py" in wheel


def test_the_wheel_has_nothing_but_the_app(wheel: set[str]) -> None:
    folders = {name.partition("/")[0] for name in wheel}

    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"jobs_app"}
