"""A query that has a name which nobody knows is refused: it would ask for more than was meant."""

from __future__ import annotations

import pytest

from jobs_app.models import Job
from tests.api.speaking import Speaker
from tests.api.tenants import Site

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("path", "wrong", "right"),
    [
        ("pull_job?worker_id=w1&queue=blue.work", "queue", "queues"),
        ("runs?job_typ=red.do", "job_typ", "job_type"),
        ("runs?offset=50", "offset", "limit"),
        ("schedules?subjct=x", "subjct", "subject"),
        ("runs/{run}/items?aftr=x", "aftr", "after"),
    ],
)
def test_a_slip_of_the_pen_is_told(path: str, wrong: str, right: str, site: Site) -> None:
    answer = Speaker().get(path.format(run=site.red.failed))
    assert answer.status_code == 422
    detail = answer.json()["detail"]
    assert f"there is no parameter {wrong!r}" in detail
    assert right in detail
    assert not Job.objects.filter(worker_id__contains="@").exists()


def test_names_may_be_repeated_and_divided_by_commas(site: Site) -> None:
    speaker = Speaker()
    for query in ("queues=red.work&queues=blue.work", "queues=red.work,blue.work"):
        assert speaker.get(f"pull_job?worker_id=w1&{query}").json()["job"] is not None
    assert speaker.get("pull_job?worker_id=w1&queues=red.work,").status_code == 422


def test_many_names_divided_by_commas_may_be_long_together(site: Site) -> None:
    names = ",".join(f"a-queue-with-a-long-name-{number}" for number in range(20))
    assert Speaker().get(f"pull_job?worker_id=w1&queues={names}").status_code == 200
