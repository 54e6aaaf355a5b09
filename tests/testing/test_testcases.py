"""The helpers in Django's own test classes, whose transactions must survive whatever a handler does."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test import TestCase, TransactionTestCase

from jobs_app import current_job, job
from jobs_app.definitions import JobDefinition
from jobs_app.lifecycle.heartbeat import Progress
from jobs_app.testing import assert_enqueued, assert_not_enqueued, run_jobs
from jobs_app.worker.context import JobContext


def define_twice() -> JobDefinition[..., Any]:
    @job
    def twice(name: str) -> None:
        """Breaks the transaction around it, if there is one."""
        Group.objects.create(name=name)
        Group.objects.create(name=name)

    return twice


class InATransaction(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        Group.objects.create(name="from the class")

    def test_it_runs_what_the_test_enqueued(self) -> None:
        @job
        def count() -> int:
            return Group.objects.count()

        count.enqueue()
        assert [run.result for run in run_jobs()] == [1]
        assert_not_enqueued()

    def test_a_refused_statement_does_not_spoil_the_test(self) -> None:
        define_twice().enqueue(name="same")
        [run] = run_jobs(raise_errors=False)

        assert run.status == "retrying"
        assert "unique" in run.error.lower()
        assert list(Group.objects.values_list("name", flat=True)) == ["from the class"]

    def test_nor_does_one_of_a_plain_cursor(self) -> None:
        @job
        def mistype() -> None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT no_such_column FROM auth_group")

        mistype.enqueue()
        with pytest.raises(DatabaseError):
            run_jobs()
        assert Group.objects.count() == 1

    def test_what_a_handler_wrote_before_an_error_stays_as_in_production(self) -> None:
        @job
        def half() -> None:
            Group.objects.create(name="half")
            raise LookupError

        half.enqueue()
        run_jobs(raise_errors=False)
        assert Group.objects.filter(name="half").exists()

    def test_a_handler_may_handle_a_refusal_in_its_own_block(self) -> None:
        @job
        def careful() -> str:
            Group.objects.create(name="one")
            try:
                with transaction.atomic():
                    Group.objects.create(name="one")
            except IntegrityError:
                return "there already"
            return ""

        careful.enqueue()
        assert run_jobs()[0].result == "there already"
        assert Group.objects.filter(name="one").exists()

    def test_a_durable_block_works(self) -> None:
        @job
        def durable() -> None:
            with transaction.atomic(durable=True):
                Group.objects.create(name="durable")

        durable.enqueue()
        assert len(run_jobs().succeeded) == 1

    def test_an_end_that_the_database_refuses_is_stored_without_what_it_refused(self) -> None:
        @job
        def odd() -> None:
            current_job().progress(1, message="said")

        run = odd.enqueue()
        with mock.patch("jobs_app.worker.runner.result_text", return_value='{"broken": '):
            run_jobs()

        assert run.refresh().status == "succeeded"
        assert "could not be stored" in run.result["not_stored"]
        assert run.progress.message == "said"
        assert Group.objects.count() == 1

    def test_words_that_the_database_refuses_are_dropped(self) -> None:
        @job
        def odd() -> str:
            current_job().progress(1, message="said")
            return "done"

        run = odd.enqueue()
        with mock.patch.object(JobContext, "unsaved", return_value=Progress(run.id, run.id, "", 2**70, 0, 0, "")):
            run_jobs()

        assert run.refresh().result == "done"
        assert run.progress.count == 0

    def test_callbacks_of_a_commit_run_where_the_test_says(self) -> None:
        @job
        def note(name: str) -> None:
            Group.objects.create(name=name)

        def sign_up() -> None:
            transaction.on_commit(lambda: note.enqueue(name="after"))

        sign_up()
        assert_not_enqueued()
        with self.captureOnCommitCallbacks(execute=True):
            sign_up()
        assert_enqueued(note, count=1)
        run_jobs()
        assert Group.objects.filter(name="after").exists()

    def test_the_planner_is_left_as_it_was(self) -> None:
        if connection.vendor != "postgresql":
            self.skipTest("only PostgreSQL has such settings")
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_mergejoin = off")

        @job(atomic=True)
        def plan() -> list[str]:
            return planner()

        plan.enqueue()
        [run] = run_jobs()

        assert run.result == ["on", "on", "on", "on", "off"]
        assert planner() == ["on", "on", "on", "on", "off"]


class WithoutATransaction(TransactionTestCase):
    def test_it_runs_what_the_test_enqueued(self) -> None:
        define_twice().enqueue(name="same")
        [run] = run_jobs(raise_errors=False)

        assert run.status == "retrying"
        assert list(Group.objects.values_list("name", flat=True)) == ["same"]

    def test_callbacks_of_a_commit_run_at_the_commit(self) -> None:
        @job
        def ship() -> None: ...

        @job
        def pay() -> None:
            with transaction.atomic():
                transaction.on_commit(ship.enqueue)

        pay.enqueue()
        assert [run.job_type for run in run_jobs()] == ["pay", "ship"]


def planner() -> list[str]:
    names = ("bitmapscan", "sort", "seqscan", "hashjoin", "mergejoin")
    with connection.cursor() as cursor:
        cursor.execute("SELECT " + ", ".join(f"current_setting('enable_{name}')" for name in names))
        return list(cursor.fetchone())
