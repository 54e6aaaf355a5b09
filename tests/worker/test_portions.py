"""How a claim is divided where a process may run only so many of a queue or of a type."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from jobs_app import job
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.lanes import AHEAD, ANY
from jobs_app.lifecycle.rules import Rules
from jobs_app.limits import QueueRules
from jobs_app.worker.portions import UNLIMITED, Left, left_in_process, split
from tests.worker.harness import finished, state, working

TYPES = ["free", "tight", "wide"]


@pytest.fixture(autouse=True)
def types() -> None:
    @job(name="free")
    def free() -> None: ...

    @job(name="tight", concurrency_per_process=1)
    def tight() -> None: ...

    @job(name="wide", concurrency_per_process=5)
    def wide() -> None: ...


def in_hand(*kinds: tuple[str, str]) -> Any:
    """(type, queue) of each."""
    empty = dict.fromkeys(ClaimedJob._fields)
    return lambda: [ClaimedJob(**(empty | {"job_type": job_type, "queue": queue})) for job_type, queue in kinds]


def rules(**most: int) -> Rules:
    return Rules({name: QueueRules(concurrency_per_process=count) for name, count in most.items()})


def test_without_limits_nobody_counts_what_is_in_hand() -> None:
    def asked() -> Any:
        raise AssertionError("it was")

    assert left_in_process(["free"], Rules({"mail": QueueRules(concurrency=3)}), asked) is UNLIMITED
    assert [portion.kind for portion in split(["free"], UNLIMITED)] == [ANY]


def test_what_is_left_is_the_limit_less_what_is_in_hand() -> None:
    given = in_hand(("tight", "mail"), ("tight", "mail"), ("wide", "mail"), ("free", "calls"))
    left = left_in_process(TYPES, rules(mail=4, calls=1), given)
    assert left == Left(of_type={"tight": 0, "wide": 4}, of_queue={"mail": 1, "calls": 0})


def test_limited_types_are_claimed_each_by_itself() -> None:
    portions = split(TYPES, Left({"tight": 1, "wide": 4}, {}))
    assert [(portion.job_types, portion.most) for portion in portions] == [
        (["free"], None),
        (["tight"], 1),
        (["wide"], 4),
    ]
    assert all(portion.reads("mail") for portion in portions)


def test_whatever_limited_types_and_queues_are_named_each_portion_has_its_own_marks() -> None:
    portions = split(["any", "ahead", "free"], Left({"any": 1, "ahead": 1}, {"any": 1, "ahead": 1}))
    kinds = {ANY, AHEAD, *(portion.kind for portion in portions[1:])}
    assert portions[0].kind == ANY
    assert len(kinds) == len(portions) + 1


def test_a_limited_queue_is_claimed_from_by_itself() -> None:
    everything, of_mail = split(["free"], Left({}, {"mail": 2}))
    assert (everything.reads("mail"), everything.reads("calls"), everything.most) == (False, True, None)
    assert (of_mail.reads("mail"), of_mail.reads("calls"), of_mail.most) == (True, False, 2)


def test_a_limited_type_in_a_limited_queue_keeps_to_both() -> None:
    portions = split(TYPES, Left({"tight": 1, "wide": 4}, {"mail": 2}))
    found = {(tuple(portion.job_types), portion.reads("mail")): portion.most for portion in portions}
    assert found == {
        (("free",), False): None,
        (("tight",), False): 1,
        (("wide",), False): 4,
        (("free",), True): 2,
        (("tight",), True): 1,
        (("wide",), True): 2,
    }
    assert len({portion.kind for portion in portions}) == len(portions)  # each has its own place in a lane


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S0.36", "S2.25")
def test_limits_of_type_and_queue_hold_together_and_leave_room_for_others(settings: Any) -> None:
    settings.JOBS = {"QUEUES": {"mail": {"concurrency_per_process": 3}}}
    go = threading.Event()

    @job(name="send", queue="mail", concurrency_per_process=2)
    def send() -> None:
        go.wait(30)

    @job(name="sort", queue="mail")
    def sort() -> None:
        go.wait(30)

    @job(name="other")
    def other() -> None: ...

    sends = send.enqueue_many([{}] * 5)
    sorts = sort.enqueue_many([{}] * 5)
    with working(concurrency=10):
        assert finished(*other.enqueue_many([{}] * 20)) == ["succeeded"] * 20
        running = [run for run in sends + sorts if state(run) == "running"]
        assert len(running) == 3
        assert sum(run in running for run in sends) <= 2
        go.set()
        assert finished(*sends, *sorts) == ["succeeded"] * 10
