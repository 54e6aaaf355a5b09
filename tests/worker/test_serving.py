"""Which job types a worker may claim now."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from jobs_app import job
from jobs_app.worker import serving
from jobs_app.worker.serving import ServedTypes


def test_disabled_types_are_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "ASK_EVERY_SECONDS", 0)
    switch = [True]
    job(name="on")(lambda: None)
    job(name="off", enabled=False)(lambda: None)
    job(name="asked", enabled=lambda: switch[0])(lambda: None)
    types = ServedTypes(lambda: False)
    assert types() == ["asked", "on"]
    switch[0] = False
    assert types() == ["on"]


def test_whether_a_type_is_enabled_is_asked_once_a_second() -> None:
    asked: list[int] = []
    job(name="asked", enabled=lambda: not asked.append(1))(lambda: None)
    types = ServedTypes(lambda: False)
    for _ in range(1000):
        assert types() == ["asked"]
    assert len(asked) < 5


def test_a_type_that_cannot_say_whether_it_is_enabled_costs_the_others_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "ASK_EVERY_SECONDS", 0)
    answers: list[Any] = [ZeroDivisionError(), ZeroDivisionError(), True, ZeroDivisionError()]

    def enabled() -> bool:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return bool(answer)

    job(name="broken", enabled=enabled)(lambda: None)
    job(name="sound")(lambda: None)
    types = ServedTypes(lambda: False)
    with caplog.at_level(logging.ERROR):
        assert [types() for _ in range(4)] == [["sound"], ["sound"], ["broken", "sound"], ["sound"]]
    assert len([record for record in caplog.records if "cannot be told" in record.message]) == 2


def test_async_types_wait_while_the_event_loop_is_blocked() -> None:
    blocked = [True]

    async def waiting() -> None: ...

    job(name="async")(waiting)
    job(name="sync")(lambda: None)
    types = ServedTypes(lambda: blocked[0])
    assert types() == ["sync"]
    blocked[0] = False
    assert types() == ["async", "sync"]
