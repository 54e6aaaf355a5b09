"""Rate limits as rows: when each scope may next start something, moved by compare-and-set."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import database_now
from jobs_app.limits import Rate
from jobs_app.models import RateLimit


class Scope(NamedTuple):
    """What a rate counts: the starts of a queue, of a job type, or of one key of either."""

    name: str
    key: str = ""


class Rates:
    """The rate limits of one admit step. What is granted is taken: the step commits with it, or neither does."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self._now: datetime | None = None
        self.next_at: datetime | None = None  # when the first of those that had to wait may start

    def take(self, scope: Scope, rate: Rate | None, wanted: int) -> int:
        """How many of `wanted` may start now."""
        if rate is None or wanted <= 0:
            return wanted
        now = self.now
        while True:
            known = self._read(scope)
            granted, free_at = rate.take(known, now, wanted)
            if granted < wanted:
                self._wait_until(free_at)
            if not granted or self._move(scope, known, free_at):
                return granted

    def reserve(self, scope: Scope, rate: Rate | None) -> datetime | None:
        """The moment of the next start, taken for one job; None: at once."""
        if rate is None:
            return None
        while True:
            known = self._read(scope)
            oldest = self.now - rate.step * rate.saved
            free_at = oldest if known is None else max(known, oldest)
            if self._move(scope, known, free_at + rate.step):
                return free_at if free_at > self.now else None

    @property
    def now(self) -> datetime:
        if self._now is None:
            self._now = database_now(self._connection)
        return self._now

    def _wait_until(self, moment: datetime) -> None:
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
