"""Which browser is taken, and how loudly it is said that there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import chromium


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test looks for itself."""
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.delenv("CI", raising=False)
    chromium.find_chromium.cache_clear()
    yield
    chromium.find_chromium.cache_clear()


def program(path: Path, *, exit_code: int) -> str:
    path.write_text(f"#!/bin/sh\nexit {exit_code}\n")
    path.chmod(0o755)
    return str(path)


def test_a_name_that_does_not_start_is_passed_over_for_one_that_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "chromium", exit_code=127)
    works = program(tmp_path / "google-chrome", exit_code=0)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert chromium.find_chromium() == works


def test_the_one_that_is_named_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "chromium", exit_code=0)
    named = program(tmp_path / "mine", exit_code=0)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CHROMIUM", named)

    assert chromium.find_chromium() == named


def test_where_there_is_none_it_is_said_loudly_and_nothing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert chromium.main(["--remind"]) == 0
    assert "THE BROWSER TESTS DO NOT RUN" in capsys.readouterr().err


def test_in_ci_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", "true")

    assert chromium.main([]) == 1


def test_nothing_is_installed_by_somebody_who_is_not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    assert not chromium.install()
