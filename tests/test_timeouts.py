"""How long a job may run, by who said it."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import Any

import pytest

from jobs_app import job
from jobs_app.conf import parse
from jobs_app.timeouts import longest_timeout, passed_text, timeout_for


class Agent(Enum):
    DEEP = "deep"


EVALUATION = {
    "variant": "agent",
    "timeout": "4m",
    "max_timeout": "20m",
    "timeouts": {
        "spelling-grammar": "6m",
        "simple-link-verifier": "8m",
        "fallacy-check": "10m",
        "multi-fallacy-eval": "15m",
        "agentic": "2h",
    },
}


def timeout(payload: dict[str, Any] | None = None, *, asked: float | None = None, **options: Any) -> float | None:
    settings = parse(options.pop("settings", {}))

    @job(name="evaluate", **options)
    def evaluate(agent: str = "plain", pages: int = 1) -> None: ...

    return timeout_for(evaluate.job_type, lambda: payload or {}, asked, settings)


@pytest.mark.spec("S3.10", "A3.3")
@pytest.mark.parametrize(
    ("agent", "seconds"),
    [
        ("plain", 240),
        ("spelling-grammar", 360),
        ("simple-link-verifier", 480),
        ("fallacy-check", 600),
        ("multi-fallacy-eval", 900),
    ],
)
def test_a_listed_variant_has_its_own_timeout_and_the_others_the_usual_one(agent: str, seconds: float) -> None:
    assert timeout({"agent": agent}, **EVALUATION) == seconds


@pytest.mark.spec("S3.R8", "A3.3")
def test_a_timeout_that_is_listed_or_asked_for_is_exempt_from_the_maximum() -> None:
    assert timeout({"agent": "agentic"}, **EVALUATION) == 7200
    assert timeout({"agent": "fallacy-check"}, asked=5000, **EVALUATION) == 5000
    assert timeout({}, asked=5000, settings={"MAX_TIMEOUT_SECONDS": 1200}) == 5000


@pytest.mark.spec("S3.10", "A3.3")
def test_every_other_timeout_is_capped_by_the_types_maximum_or_the_settings() -> None:
    by_pages = {"timeout": lambda payload: payload["pages"] * 60}
    assert timeout({"pages": 5}, max_timeout=1200, **by_pages) == 300
    assert timeout({"pages": 50}, max_timeout=1200, **by_pages) == 1200
    assert timeout({"pages": 50}, preset="transient", **by_pages) == 1200
    assert timeout({}, timeout="1h", settings={"MAX_TIMEOUT_SECONDS": 1200}) == 1200
    assert timeout({}, timeout="1h", max_timeout="2h", settings={"MAX_TIMEOUT_SECONDS": 1200}) == 3600


@pytest.mark.spec("S3.10")
def test_the_transient_preset_gives_four_minutes_where_nobody_says_anything() -> None:
    assert timeout({}, preset="transient") == 240
    assert timeout({}, preset="transient", timeout=None) is None
    assert timeout({}, settings={"MAX_TIMEOUT_SECONDS": 1200}) is None


@pytest.mark.parametrize(("given", "seconds"), [(90, 90), ("10m", 600), (timedelta(hours=1), 3600), (None, None)])
def test_a_callable_may_say_it_in_any_form(given: Any, seconds: float | None) -> None:
    assert timeout({}, timeout=lambda payload: given) == seconds


@pytest.mark.parametrize("given", [0, -1, "soon", object()])
def test_a_callable_that_gives_no_time_is_told(given: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        timeout({}, timeout=lambda payload: given)


def test_a_variant_may_be_a_default_an_enum_or_what_a_callable_says() -> None:
    @job(variant="agent", timeouts={"deep": 99})
    def by_default(agent: Agent = Agent.DEEP) -> None: ...

    assert timeout_for(by_default.job_type, dict, None, parse({})) == 99
    many = {"variant": lambda payload: "many" if payload["pages"] > 10 else None, "timeouts": {"many": 99}}
    assert [timeout({"pages": pages}, **many) for pages in (5, 50)] == [None, 99]


def test_a_payload_is_not_read_for_types_that_do_not_ask() -> None:
    @job(timeout=5)
    def plain() -> None: ...

    def broken() -> dict[str, Any]:
        raise AssertionError("read")

    assert timeout_for(plain.job_type, broken, None, parse({})) == 5


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({}, 0),
        ({"timeout": "5m"}, 300),
        ({"timeout": "1h"}, 1200),
        ({"timeout": "1h", "max_timeout": "2h"}, 3600),
        ({"timeout": "5m", "variant": "agent", "timeouts": {"agentic": "2h", "plain": "1m"}}, 7200),
        ({"timeout": "5m", "variant": "agent", "timeouts": {"plain": "1m"}}, 300),
        ({"timeout": lambda payload: 1}, 1200),
        ({"timeout": lambda payload: 1, "max_timeout": "10m"}, 600),
    ],
)
def test_the_longest_is_known_without_a_payload(options: dict[str, Any], seconds: float) -> None:
    @job(name="evaluate", **options)
    def evaluate(agent: str = "plain") -> None: ...

    assert longest_timeout(evaluate.job_type, parse({"MAX_TIMEOUT_SECONDS": 1200})) == seconds


def test_nobody_knows_what_a_callable_without_a_maximum_may_say() -> None:
    @job(name="evaluate", timeout=lambda payload: 60)
    def evaluate() -> None: ...

    assert longest_timeout(evaluate.job_type, parse({})) == 0


def test_a_passed_deadline_is_told_with_its_seconds() -> None:
    assert passed_text(240.04, 240) == "timed out after 240 s (limit 240 s)"
    assert passed_text(0.26, 0.25) == "timed out after 0.3 s (limit 0.25 s)"
