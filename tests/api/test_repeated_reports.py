"""The same report again counts once, and is answered as the first was."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.api.scraping import ended, moment, stored
from tests.api.speaking import Speaker, items
from tests.lifecycle.rows import T, at, outcomes_of, tables

pytestmark = pytest.mark.django_db


@pytest.mark.spec("S1.R4", "A1.5")
def test_the_same_report_again_counts_once_and_extends_the_lease(speaker: Speaker, scrape: Any) -> None:
    said = {"items": items("a", "b"), "cursor": "2", "idempotency_key": "page 1"}
    with at(0):
        scrape.enqueue()
        job_ = speaker.job()
        first = speaker.told(job_, **said)
    with at(100):
        again = speaker.told(job_, **said)
    assert (first["idempotent"], again["idempotent"]) == (False, True)
    assert (again["added"], again["duplicates"]) == (first["added"], first["duplicates"]) == (2, 0)
    assert moment(again["lease_expires_at"]) == T + timedelta(seconds=220)
    row = stored(job_["job_id"])
    assert (row.progress_count, row.result_count) == (2, 2)


@pytest.mark.spec("S1.R4")
def test_a_keyed_report_also_finishes_and_its_repeat_is_answered_the_same(speaker: Speaker, scrape: Any) -> None:
    scrape.enqueue()
    job_ = speaker.job()
    said = {"items": items("a"), "done": True, "idempotency_key": "last"}
    first, again = speaker.told(job_, **said), speaker.told(job_, **said)
    assert first | {"idempotent": True} == again
    assert ended(job_["job_id"]).progress_count == 1


@pytest.mark.spec("S1.R4")
def test_a_key_that_was_used_for_another_report_is_refused(speaker: Speaker, scrape: Any) -> None:
    scrape.enqueue()
    job_ = speaker.job()
    speaker.told(job_, items=items("a"), idempotency_key="k")
    before = tables()
    assert speaker.report(job_, items=items("b"), idempotency_key="k").status_code == 409
    assert tables() == before


@pytest.mark.spec("S1.R4")
@pytest.mark.parametrize("said", [{"error": "no answer"}, {"release": True}])
def test_a_report_that_gave_the_job_back_is_answered_the_same_when_it_comes_again(
    speaker: Speaker, scrape: Any, said: dict[str, Any]
) -> None:
    run = scrape.enqueue()
    job_ = speaker.job()
    first, again = (speaker.told(job_, idempotency_key="end", **said) for _ in range(2))
    assert first | {"idempotent": True} == again
    assert len(outcomes_of(run.id)) == 1
    assert speaker.report(job_, idempotency_key="other", **said).status_code == 409
