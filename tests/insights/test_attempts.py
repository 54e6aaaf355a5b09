"""The attempts of one run."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from jobs_app.insights import attempts
from jobs_app.models import JobAttempt

RUN = UUID(int=7)


@pytest.mark.django_db
def test_the_last_attempts_of_a_run_oldest_first() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for run_id, number in ((RUN, 2), (RUN, 1), (RUN, 3), (UUID(int=8), 1)):
        JobAttempt.objects.create(
            job_id=run_id, number=number, token=uuid4(), finished_at=now, outcome="error", success=False
        )
    assert [each.number for each in attempts.of_run(RUN)] == [1, 2, 3]
    assert [each.number for each in attempts.of_run(RUN, limit=2)] == [2, 3]
    assert attempts.of_run(UUID(int=9)) == []
