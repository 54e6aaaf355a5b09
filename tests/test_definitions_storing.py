"""How enqueued jobs are stored: in the caller's transaction, many at once, once per key, in the right database."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction

from jobs_app import get_run, job
from jobs_app.errors import IdempotencyConflict, OptionInvalid, PayloadInvalid, RunNotFound
from jobs_app.handles import RunHandle
from jobs_app.models import IdempotencyKey, Job

Assert = Callable[[int], Any]
ROOT = Path(__file__).parent.parent


@pytest.fixture
def report() -> Any:
    @job(name="send-report")
    def report(account: str) -> None: ...

    return report


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S2.R3")
def test_an_enqueue_rolls_back_with_the_transaction_around_it(report: Any) -> None:
    with transaction.atomic():
        run = report.enqueue(account="main")
        assert get_run(run.id).status == "queued"
        transaction.set_rollback(True)
    with pytest.raises(RunNotFound):
        get_run(run.id)
    assert not Job.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_enqueue_commits_with_the_transaction_around_it(report: Any) -> None:
    with transaction.atomic():
        run = report.enqueue(account="main")
    assert get_run(run.id).payload == {"account": "main"}


@pytest.mark.django_db(transaction=True)
def test_a_refused_payload_leaves_the_transaction_usable(report: Any) -> None:
    with transaction.atomic():
        with pytest.raises(PayloadInvalid):
            report.enqueue()
        run = report.enqueue(account="main")
    assert get_run(run.id).status == "queued"


@pytest.mark.django_db
def test_ids_sort_in_the_order_of_enqueue(report: Any) -> None:
    ids = [report.enqueue(account="main").id for _ in range(50)]
    assert ids == sorted(ids)


@pytest.mark.django_db
def test_many_jobs_are_stored_by_few_statements(report: Any, django_assert_max_num_queries: Assert) -> None:
    payloads = [{"account": str(number)} for number in range(5000)]
    with django_assert_max_num_queries(5):
        runs = report.options(actor="ada").enqueue_many(payloads)
    assert [run.payload for run in runs] == payloads
    assert len({run.id for run in runs}) == Job.objects.filter(actor="ada").count() == 5000
    assert Job.objects.get(pk=runs[4321].id).payload == {"account": "4321"}


@pytest.mark.django_db
def test_many_may_be_none_and_may_come_from_a_generator(report: Any, django_assert_num_queries: Assert) -> None:
    with django_assert_num_queries(0):
        assert report.enqueue_many([]) == []
    assert len(report.enqueue_many({"account": name} for name in "abc")) == 3


@pytest.mark.django_db
def test_one_bad_payload_of_many_stores_none(report: Any, django_assert_num_queries: Assert) -> None:
    with (
        django_assert_num_queries(0),
        pytest.raises(PayloadInvalid, match=r"payload number 2: .*account.* No job was stored") as caught,
    ):
        report.enqueue_many([{"account": "a"}, {"account": "b"}, {"account": 7}])
    assert list(caught.value.errors) == ["account"]


@pytest.mark.django_db(transaction=True)
def test_many_are_stored_all_or_none(report: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from jobs_app.lifecycle import enqueue

    monkeypatch.setattr(enqueue, "ROWS_PER_STATEMENT", 2)
    twin = UUID(int=1)
    ids = iter([UUID(int=5), twin, UUID(int=6), twin])
    monkeypatch.setattr("jobs_app.drafts.uuid7", lambda: next(ids))
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        report.enqueue_many([{"account": name} for name in "abcd"])
    assert not Job.objects.exists()


@pytest.mark.parametrize("option", [{"idempotency_key": "k"}, {"parent": UUID(int=1)}])
def test_options_about_one_run_are_refused_for_many(report: Any, option: dict[str, Any]) -> None:
    with pytest.raises(OptionInvalid, match="Enqueue these one by one"):
        report.options(**option).enqueue_many([{"account": "a"}])


@pytest.mark.django_db
def test_an_idempotency_key_gives_the_run_that_is_there(report: Any) -> None:
    once = report.options(idempotency_key="order-7")
    first, second = once.enqueue(account="main"), once.enqueue(account="main")
    assert (first.created, second.created, second.id) == (True, False, first.id)
    assert (second.status, second.payload) == ("queued", {"account": "main"})
    assert Job.objects.count() == IdempotencyKey.objects.count() == 1


@pytest.mark.django_db
def test_an_idempotency_key_is_not_for_other_work(report: Any) -> None:
    once = report.options(idempotency_key="order-7")
    once.enqueue(account="main")
    with pytest.raises(IdempotencyConflict, match="use a new key for new work"):
        once.enqueue(account="other")
    assert Job.objects.count() == 1


@pytest.mark.django_db
def test_a_default_spelled_out_is_the_same_work() -> None:
    @job
    def send(order: int, resend: bool = False) -> None: ...

    once = send.options(idempotency_key="order-7")
    first = once.enqueue(order=1)
    assert once.enqueue(order=1, resend=False).id == first.id
    with pytest.raises(IdempotencyConflict):
        once.enqueue(order=1, resend=True)


@pytest.mark.django_db
def test_async_code_enqueues_in_the_transaction_of_its_sync_thread(report: Any) -> None:
    run = async_to_sync(report.options(priority=1).aenqueue)(account="main")
    assert Job.objects.get(pk=run.id).priority == 1


@pytest.mark.django_db(transaction=True)
def test_async_code_can_read_the_run_that_a_key_gave(report: Any) -> None:
    once = report.options(idempotency_key="k")

    async def enqueue_twice() -> tuple[RunHandle, str]:
        await once.aenqueue(account="main")
        second = await once.aenqueue(account="main")
        return second, second.status

    second, status = async_to_sync(enqueue_twice)()
    assert (second.created, status) == (False, "queued")
    Job.objects.all().delete()
    assert async_to_sync(once.aenqueue)(account="main").id == second.id


ELSEWHERE = """
import sys
import django
from django.conf import settings

class Router:
    def db_for_read(self, model, **hints):
        return "jobs" if model._meta.app_label == "jobs_app" else None

    db_for_write = db_for_read

    def allow_migrate(self, db, app_label, **hints):
        return (db == "jobs") == (app_label == "jobs_app")

folder, by = sys.argv[1:]
settings.configure(
    INSTALLED_APPS=["jobs_app"],
    USE_TZ=True,
    DATABASES={
        alias: {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{folder}/{alias}"} for alias in ("default", "jobs")
    },
    JOBS={"DATABASE": "jobs"} if by == "setting" else {},
    DATABASE_ROUTERS=["__main__.Router"] if by == "router" else [],
)
django.setup()

from django.core.management import call_command
from django.db import connections, transaction
from jobs_app import get_run, job

@job
def note(text: str): ...

call_command("migrate", database="jobs", verbosity=0)
run = note.enqueue(text="here")
assert get_run(run.id).payload == {"text": "here"}
assert len(note.enqueue_many([{"text": "a"}, {"text": "b"}])) == 2
first, second = (note.options(idempotency_key="k").enqueue(text="once") for _ in range(2))
assert first.id == second.id
with transaction.atomic(using="jobs"):
    gone = note.enqueue(text="rolled back")
    transaction.set_rollback(True, using="jobs")
with connections["jobs"].cursor() as cursor:
    cursor.execute("SELECT count(*) FROM jobs_app_job")
    assert cursor.fetchone() == (4,)
assert "jobs_app_job" not in connections["default"].introspection.table_names()
"""


@pytest.mark.parametrize("by", ["setting", "router"])
def test_jobs_may_live_in_a_database_of_their_own(by: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ELSEWHERE, str(tmp_path), by]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
