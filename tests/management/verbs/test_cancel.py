"""`jobs cancel` and `jobs abort`."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app.models import ControlEvent, Job, JobRun
from tests.insights.run_rows import ended, running, waiting
from tests.lifecycle.rows import at
from tests.management.calling import jobs, jobs_json
from tests.management.ending import ended as ended_with
from tests.management.ending import user_who_may

pytestmark = pytest.mark.django_db

DONE = {"cancel": "cancelled", "abort": "aborted"}
BOTH = pytest.mark.parametrize("verb", DONE)


@pytest.fixture(autouse=True)
def _clock() -> Any:
    with at(60):
        yield


@BOTH
def test_what_waits_ends_and_what_runs_is_asked_to_stop(verb: str) -> None:
    queued, busy = waiting(), running()
    data, words = jobs(verb, queued, busy, "--reason", "wrong file")
    assert [line.split() for line in data.splitlines()[1:]] == [
        [str(queued), DONE[verb], "-"],
        [str(busy), "asked", "to", "stop", "-"],
    ]
    assert words == ""
    assert JobRun.objects.get().error == "wrong file"
    job = Job.objects.get()
    assert (job.cancel_requested, job.abort_requested) == (True, verb == "abort")


@BOTH
def test_a_filter_means_what_is_live(verb: str) -> None:
    waiting(subject="shop-7")
    running(subject="shop-7")
    ended(subject="shop-7")
    kept = waiting(subject="shop-8")
    data, _ = jobs(verb, "--subject", "shop-7", "--yes")
    assert data == f"2 runs {DONE[verb]}, 1 of them asked to stop.\n"
    assert Job.objects.filter(pk=kept, cancel_requested=False).exists()
    event = ControlEvent.objects.get()
    assert (event.action, event.moved, event.detail["filter"]["subject"]) == (verb, 2, "shop-7")


@BOTH
def test_json_names_who_moved_and_who_was_asked(verb: str) -> None:
    queued, busy = waiting(), running()
    told = jobs_json(verb, "--job-type", "work", "--yes")
    assert (sorted(told["moved"]), told["asked"]) == (sorted([str(queued), str(busy)]), [str(busy)])
    assert (told["verb"], told["skipped"], told["new_runs"]) == (verb, {}, {})


@BOTH
def test_what_has_ended_is_skipped_with_exit_code_4(verb: str) -> None:
    answer = ended_with(verb, ended())
    assert (answer.code, answer.words) == (4, f"0 {DONE[verb]}, 1 skipped: 1 has already succeeded.")


@BOTH
def test_of_what_has_ended_nothing_can_be_chosen(verb: str) -> None:
    answer = ended_with(verb, "--state", "failed", "--yes")
    assert (answer.code, answer.words) == (1, f"{verb}: nothing can be done with runs that are failed.")


@BOTH
def test_a_user_needs_the_permission_of_the_verb(verb: str) -> None:
    queued = waiting()
    user_who_may("retry_run", "abort_run" if verb == "cancel" else "cancel_run")
    answer = ended_with(verb, queued, "--actor", "ann")
    assert (answer.code, answer.words) == (1, f"{verb}: ann has no permission jobs_app.{verb}_run.")
    user_who_may(f"{verb}_run", name="bob")
    assert ended_with(verb, queued, "--actor", "bob").code == 0
    assert ControlEvent.objects.get().actor == "bob"


@BOTH
def test_nothing_there_is_exit_code_3_where_it_matters(verb: str) -> None:
    assert ended_with(verb, "--queue", "mail", "--yes").code == 0
    assert ended_with(verb, "--queue", "mail", "--yes", "--fail-if-empty").code == 3
