"""Why a run ended, in words that are true of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobs_app import job
from jobs_app.insights.timeline import WHY_ENDED, why_ended
from jobs_app.models import JobRun
from jobs_app.remote.ending import _done_reason
from jobs_app.testing import run_jobs

APP = Path(__file__).resolve().parents[2] / "jobs_app"


def reasons_in_code() -> set[str]:
    code = "".join(path.read_text() for path in APP.rglob("*.py") if "migrations" not in path.parts)
    remote = {_done_reason(None, False), _done_reason(1, True), _done_reason(1, False)}
    return remote | set(re.findall(r'\bdone_reason="(\w+)"', code))


@pytest.mark.django_db(transaction=True)
def test_a_run_whose_handler_returned_says_that_its_work_is_done_and_nothing_of_its_worker() -> None:
    @job
    def work() -> None:
        pass

    run = work.enqueue()
    run_jobs()
    assert why_ended(JobRun.objects.get(pk=run.id).done_reason) == "its work is done"


def test_every_reason_that_code_gives_has_words() -> None:
    assert reasons_in_code() - set(WHY_ENDED) == set()


def test_a_reason_of_the_host_is_told_as_it_is() -> None:
    assert why_ended("rained_off") == "rained_off"
