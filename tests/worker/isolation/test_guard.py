"""The process above a child: it does not give up on what cannot be killed, and does not burn the machine over it."""

from __future__ import annotations

import os
import socket
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from jobs_app.worker.isolation import guard


def test_the_looks_at_what_cannot_be_killed_become_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float | None] = []
    looks = iter([True] * 12 + [False])

    def wait(*ends: socket.socket, seconds: float | None) -> list[socket.socket]:
        pauses.append(seconds)
        return []

    nobody: Any = SimpleNamespace(Process=lambda: SimpleNamespace(children=lambda recursive: []), Error=psutil.Error)
    monkeypatch.setattr(guard, "psutil", nobody)
    monkeypatch.setattr(guard, "readable", wait)
    monkeypatch.setattr(os, "killpg", lambda group, number: None)
    stuck = guard.Guard(0, socket.socket())
    monkeypatch.setattr(guard, "has_children", lambda ended: next(looks))
    stuck._end_all()
    assert pauses[:4] == [0.005, 0.01, 0.02, 0.04]
    assert pauses[-3:] == [1.0, 1.0, 1.0]
