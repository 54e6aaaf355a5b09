"""How much memory the process has."""

from __future__ import annotations

import sys

import pytest

from jobs_app.runtime.memory import rss_bytes


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_a_process_has_some_memory() -> None:
    assert 1024 * 1024 < rss_bytes() < 2**40


def test_it_is_zero_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.runtime.memory.Path.read_text", _refuse)
    assert rss_bytes() == 0


def _refuse(*args: object, **kwargs: object) -> str:
    raise FileNotFoundError
