"""`jobs capacity`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.management import CommandError

from jobs_app import job
from jobs_app.insights import rates
from tests.insights.planning import ran, schedule, worker
from tests.lifecycle.rows import at
from tests.management.calling import jobs, jobs_json

pytestmark = pytest.mark.django_db

POOL = "drains: 576 of 6000 minutes an hour are used, 5424 are left; slots needed: 10 of 100, subjects at most: 187"
GIVEN = ("--type", "deal:4:5m", "--type", "retrieval:6:2m", "--subjects", "18", "--processes", "5")


@pytest.fixture
def providers() -> Iterator[None]:
    """The worked example, measured: 18 of them, five processes of 20 slots; and work that nobody has measured yet."""
    for name in ("deal", "retrieval"):
        job(name=name, queue="sp.work", policy="singleton")(lambda: None)
    for number in range(18):
        schedule("deal", f"sp-{number}", per_hour=4)
        schedule("retrieval", f"sp-{number}", per_hour=6)
    schedule("metrics", per_hour=0.5)
    ran("deal", [5, 5, 2])
    ran("retrieval", [2])
    for number in range(5):
        worker(f"worker-{number}", 20, "deal", "retrieval", "metrics")
    with at(0):
        yield


@pytest.mark.spec("S0.42", "A0.1")
def test_the_worked_example_with_given_numbers() -> None:
    data, words = jobs("capacity", *GIVEN, "--slots", "10")
    assert data.splitlines() == [
        "TYPE       JOBS/H  TAKES  MINUTES/H  JOBS/H AT MOST  SUBJECTS AT MOST",
        "deal            4  5m            20             600               150",
        "retrieval       6  2m            12            1500               250",
        "",
        "One subject: drains: 32 of 60 minutes an hour are used, 28 are left.",
        f"The pool: {POOL}.",
        "Answer: 150 subjects at most, limited by the slots of deal",
    ]
    assert words == ""


@pytest.mark.spec("S0.42", "A0.1")
def test_the_worked_example_as_json() -> None:
    told = jobs_json("capacity", *GIVEN, "--slots", "10")
    assert (told["subject"]["minutes"], told["subject"]["headroom"], told["subject"]["drains"]) == (32, 28, True)
    assert [(each["per_hour_at_most"], each["most_subjects"]) for each in told["types"]] == [(600, 150), (1500, 250)]
    assert (told["pool"]["most_subjects"], told["pool"]["slots_needed"]) == (187, 9.6)
    assert (told["most_subjects"], told["limiting_type"]) == (150, "deal")


@pytest.mark.spec("S0.41")
def test_slots_that_all_types_share_limit_them_together() -> None:
    shared = jobs_json("capacity", *GIVEN, "--shared", "10")
    assert [each["most_subjects"] for each in shared["types"]] == [150, 250]
    assert (shared["most_subjects"], shared["limiting_type"]) == (93, None)
    both = jobs_json("capacity", *GIVEN, "--slots", "3", "--shared", "10")
    assert (both["types"][0]["most_subjects"], both["pool"]["most_subjects"], both["most_subjects"]) == (45, 93, 45)


@pytest.mark.spec("S0.39")
def test_a_subject_that_can_never_catch_up_is_told_so() -> None:
    told = jobs("capacity", "--type", "deal:4:12m", "--type", "retrieval:6:3m", "--shared", "10")[0]
    assert "One subject: can never catch up: 66 of 60 minutes an hour are needed, 6 are missing." in told


def test_what_takes_no_time_is_not_limited() -> None:
    told = jobs("capacity", "--type", "ping:4:0s", "--shared", "1")[0].splitlines()
    assert told[1].split("  ")[-1] == "any number"
    assert told[-1] == "Answer: nothing limits the number of subjects"


@pytest.mark.usefixtures("providers")
def test_the_measured_pool_and_its_types() -> None:
    data, words = jobs("capacity")
    assert data.splitlines() == [
        "TYPE       JOBS/H  SUBJECTS  P50  P95  MINUTES/H  SLOTS  JOBS/H AT MOST  SUBJECTS AT MOST",
        "deal       72            18  5m   5m   360          100  1200            300",
        "metrics    0.5            0  -    -    -            100  -               -",
        "retrieval  108           18  2m   2m   216          100  3000            500",
        "",
        f"The pool: {POOL}; without metrics, of which no run was measured.",
        "Answer: 187 subjects at most, limited by the slots that all types share",
    ]
    assert words == ""


@pytest.mark.usefixtures("providers")
def test_the_measured_pool_as_json() -> None:
    told = jobs_json("capacity")
    assert [each["job_type"] for each in told["types"]] == ["deal", "metrics", "retrieval"]
    deal, metrics, _ = told["types"]
    assert (deal["runs"], deal["p50_seconds"], deal["p95_seconds"], deal["load"]["minutes"]) == (3, 300, 300, 360)
    assert (metrics["runs"], metrics["minutes"], metrics["load"], metrics["most_subjects"]) == (0, None, None, None)
    assert (told["unmeasured"], told["capped"], told["most_subjects"]) == (["metrics"], False, 187)


@pytest.mark.usefixtures("providers")
def test_the_measured_pool_with_other_slots() -> None:
    assert jobs_json("capacity", "--processes", "2", "--shared", "8")["pool"]["slots"] == 16
    assert "can never catch up: 576 of 540" in jobs("capacity", "--shared", "9")[0]


def test_a_pool_without_schedules_says_how_to_plan_ahead() -> None:
    assert "Plan ahead with given numbers" in jobs("capacity")[1]


@pytest.mark.usefixtures("providers")
def test_numbers_that_were_capped_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = rates.by_rule
    monkeypatch.setattr(rates, "by_rule", lambda schedules, now: limited(schedules, now, limit=1))
    assert "the loads are at least these" in jobs("capacity")[0]
    assert jobs_json("capacity")["capped"] is True


@pytest.mark.usefixtures("providers")
@pytest.mark.spec("S0.39")
def test_one_subject() -> None:
    assert jobs("capacity", "--subject", "sp-3")[0].splitlines() == [
        "TYPE       JOBS/H  P50  P95  MINUTES/H",
        "deal            4  5m   5m          20",
        "retrieval       6  2m   2m          12",
        "",
        "sp-3: drains: 32 of 60 minutes an hour are used, 28 are left.",
    ]
    told = jobs_json("capacity", "--subject", "sp-3")
    assert (told["subject"], told["load"]["headroom"], told["unmeasured"]) == ("sp-3", 28, [])
    assert [each["load"] for each in told["types"]] == [20, 12]


def test_a_subject_without_schedules_is_said_to_have_none() -> None:
    data, words = jobs("capacity", "--subject", "nobody")
    assert data == "nobody: drains: 0 of 60 minutes an hour are used, 60 are left.\n"
    assert words == "No active schedule is about nobody.\n"


@pytest.mark.usefixtures("providers")
def test_the_busiest_subjects() -> None:
    schedule("deal", "busy", per_hour=13)
    schedule("metrics", "sp-0", per_hour=1)
    assert jobs("capacity", "--busiest", "2")[0].splitlines() == [
        "SUBJECT  MINUTES/H  LEFT OUT  VERDICT",
        "busy            65         0  can never catch up: 65 of 60 minutes an hour are needed, 5 are missing",
        "sp-0            32         1  only the pool limits it: its jobs run beside each other, 32 minutes an hour",
    ]
    told = jobs_json("capacity", "--busiest", "2")["subjects"]
    assert [(each["subject"], each["minutes"], each["drains"], each["left_out"]) for each in told] == [
        ("busy", 65, False, 0),
        ("sp-0", 32, True, 1),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--type", "deal:4:5m"], "how many slots has a process"),
        (["--slots", "10"], "--slots says nothing without --type"),
        (["--subjects", "10"], "--subjects says nothing without --type"),
        (["--processes", "5"], "Say so with --shared"),
        (["--subject", "sp-1", "--shared", "5"], "--shared says nothing beside --subject"),
        (["--busiest", "3", "--processes", "5"], "--processes says nothing beside --busiest"),
        (["--subject", ""], "name a subject"),
        (["--subject", "a", "--busiest", "3"], "not allowed with"),
        (["--type", "deal"], "as deal:4:5m"),
        (["--type", "deal:4:5m", "--shared", "0"], "whole number above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        jobs("capacity", *arguments)
