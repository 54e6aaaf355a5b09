"""Which files begin first."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.long_first import RANKS


def test_the_files_that_begin_first_are_there() -> None:
    assert [path.name for path in RANKS if not path.is_file()] == []


def test_they_can_be_left_out(pytestconfig: pytest.Config) -> None:
    command = [sys.executable, "-m", "pytest", "tests/cron", "--collect-only", "-q", "-p", "no:cacheprovider"]

    collected = subprocess.run(
        [*command, "--without-longest"], check=True, capture_output=True, text=True, cwd=pytestconfig.rootpath
    )

    assert "test_slots.py" in collected.stdout
    assert "test_zones.py" not in collected.stdout
