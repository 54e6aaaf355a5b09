"""Which interpreters the matrix takes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts import matrix


def test_an_interpreter_that_does_not_start_is_passed_over_for_one_that_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    broken = tmp_path / "bin" / f"python{version}"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    works = tmp_path / "pyenv" / "versions" / f"{version}.1" / "bin" / "python"
    works.parent.mkdir(parents=True)
    works.symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(broken.parent))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))

    assert matrix.find_python(version) == str(works)


def test_a_version_that_is_nowhere_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))

    assert matrix.find_python("3.12") is None
