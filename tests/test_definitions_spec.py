"""An enqueue that fails."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import IntegrityError

from jobs_app import job
from jobs_app.models import IdempotencyKey, Job, Run


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S2.R1", "S3.R5")
def test_an_enqueue_that_the_database_refuses_is_raised_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    @job
    def pay(order: int) -> None: ...

    taken = pay.enqueue(order=1)
    with monkeypatch.context() as patch:
        patch.setattr("jobs_app.drafts.uuid7", lambda: UUID(str(taken.id)))
        for refused in (pay, pay.options(idempotency_key="order-2")):
            with pytest.raises(IntegrityError):
                refused.enqueue(order=2)
    assert [run.pk for run in Run.objects.all()] == [taken.id]
    assert not IdempotencyKey.objects.exists()
    assert pay.options(idempotency_key="order-2").enqueue(order=2).created
    assert Job.objects.count() == 2
