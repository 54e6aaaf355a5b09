"""The wheel holds the app and all it needs at run time, and nothing else."""

from __future__ import annotations

import zipfile

import pytest

from tests.wheel import ROOT, built_wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in it."""
    return set(zipfile.ZipFile(built_wheel(tmp_path_factory)).namelist())


def test_the_wheel_has_every_file_of_the_app(wheel: set[str]) -> None:
    files = [path for path in (ROOT / "jobs_app").rglob("*") if path.is_file() and "__pycache__" not in path.parts]

    assert {path.relative_to(ROOT).as_posix() for path in files} <= wheel


def test_the_wheel_is_typed_and_can_migrate(wheel: set[str]) -> None:
    assert "jobs_app/py.typed" in wheel
    assert "jobs_app/migrations/0001_initial.py" in wheel


def test_the_wheel_has_nothing_but_the_app(wheel: set[str]) -> None:
    folders = {name.partition("/")[0] for name in wheel}

    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"jobs_app"}
