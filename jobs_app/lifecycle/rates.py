"""Rate limits as rows: when each scope may next start something, moved by compare-and-set."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple, Self

from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import database_now, write_transaction
from jobs_app.limits import Rate
from jobs_app.models import RateLimit

FORGET_AFTER = timedelta(days=1)
ROWS_PER_STATEMENT = 200


class Scope(NamedTuple):
    """What a rate counts: the starts of a queue, of a job type, or of one key of either."""

    name: str
    key: str = ""

    @classmethod
    def of_queue(cls, queue: str) -> Self:
        return cls(f"queue {queue}")

    @classmethod
    def of_type(cls, job_type: str) -> Self:
        return cls(f"type {job_type}")

    @classmethod
    def of_key(cls, queue: str, key: str, job_type: str | None = None) -> Self:
        """Of all jobs with this key there, or of those of one type."""
        return cls(f"key of {queue}" if job_type is None else f"key of {job_type} in {queue}", key)


class Rates:
    """The rate limits of one admit step. What is granted is taken: the step commits with it, or neither does."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self._now: datetime | None = None
        self._known: dict[Scope, datetime | None] = {}
        self.next_at: datetime | None = None  # when the first of those that had to wait may start

    def take(self, scope: Scope, rate: Rate | None, wanted: int) -> int:
        """How many of `wanted` may start now."""
        if rate is None or wanted <= 0:
            return wanted
        now = self.now
        while True:
            known = self._known.pop(scope) if scope in self._known else self._read(scope)
            granted, free_at = rate.take(known, now, wanted)
            if granted < wanted:
                self.wait_until(free_at)
            if not granted or self._move(scope, known, free_at):
                return granted

    def free_at(self, scope: Scope, rate: Rate, *, after: int = 0) -> datetime:
        """When one may start, after so many others that have not been granted yet."""
        if scope not in self._known:
            self._known[scope] = self._read(scope)
        return rate.free_at(self._known[scope], self.now) + rate.step * after

    @property
    def now(self) -> datetime:
        if self._now is None:
            self._now = database_now(self._connection)
        return self._now

    def wait_until(self, moment: datetime) -> None:
        self.next_at = moment if self.next_at is None else min(self.next_at, moment)

    def _read(self, scope: Scope) -> datetime | None:
        row = RateLimit.objects.using(self._connection.alias).filter(scope=scope.name, key=scope.key)
        return row.values_list("next_free_at", flat=True).first()

    def _move(self, scope: Scope, known: datetime | None, free_at: datetime) -> bool:
        rows = RateLimit.objects.using(self._connection.alias)
        if known is not None:
            unchanged = rows.filter(scope=scope.name, key=scope.key, next_free_at=known)
            return bool(unchanged.update(next_free_at=free_at))
        try:
            with transaction.atomic(using=self._connection.alias):
                rows.create(scope=scope.name, key=scope.key, next_free_at=free_at)
        except IntegrityError:
            return False
        return True


def forget_rates(connection: BaseDatabaseWrapper, go_on: Callable[[], bool]) -> None:
    """Delete the rows of scopes that started nothing for a day: without one a rate begins anew, which is the same."""
    rows = RateLimit.objects.using(connection.alias)
    old = rows.filter(next_free_at__lt=database_now(connection) - FORGET_AFTER).order_by("next_free_at")
    while go_on():
        with write_transaction(connection):
            keys = list(old.values_list("scope", "key")[:ROWS_PER_STATEMENT])
            rows.filter(pk__in=keys, next_free_at__lt=database_now(connection) - FORGET_AFTER).delete()
        if len(keys) < ROWS_PER_STATEMENT:
            return
