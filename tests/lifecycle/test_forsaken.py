"""Jobs that wait for a key which nobody has are found again."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.lifecycle import forsaken
from jobs_app.lifecycle.forsaken import EVERY_SECONDS, wake_forsaken
from jobs_app.models import Job, RateLimit
from tests.by_hand import admit_all
from tests.lifecycle.rows import at, done, stored, take
from tests.lifecycle.sessions import sessions

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_postgres")]


@pytest.fixture(autouse=True)
def from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forsaken, "_place", forsaken._BEGINNING)


def keyed(count: int, key: str = "k", **changes: object) -> list[object]:
    return list(stored(count, policy="singleton", key=key, gate=2, **changes))


def woken() -> set[str]:
    return set(Job.objects.filter(hold="new").values_list("key", flat=True))


def test_only_the_next_of_a_key_that_nobody_has_is_woken() -> None:
    keyed(3, "owned")
    admit_all(["work"])
    keyed(3, "lost")
    keyed(2, "lost", queue="mail")
    Job.objects.filter(key="lost").update(hold="key")
    assert wake_forsaken(connection) == 2
    assert sorted(Job.objects.filter(hold="new").values_list("queue", "key")) == [("default", "lost"), ("mail", "lost")]


def test_one_that_waits_for_a_limit_has_its_key() -> None:
    keyed(2)
    first, second = Job.objects.order_by("id")
    Job.objects.filter(pk=first.pk).update(hold="limit")
    Job.objects.filter(pk=second.pk).update(hold="key")
    assert wake_forsaken(connection) == 0


def test_it_is_done_every_few_seconds_by_one_process() -> None:
    with at(0):
        assert wake_forsaken(connection) == 0
    keyed(1)
    Job.objects.update(hold="key")
    with at(EVERY_SECONDS - 1):
        assert wake_forsaken(connection) == 0
    with at(EVERY_SECONDS):
        assert wake_forsaken(connection) == 1


def test_many_keys_are_gone_through_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forsaken, "KEYS_PER_TURN", 2)
    for key in "abcde":
        keyed(2, key)
    Job.objects.update(hold="key")
    seen = []
    for _ in range(4):
        wake_forsaken(connection)
        RateLimit.objects.all().delete()
        seen.append("".join(sorted(woken())))
    assert seen == ["ab", "abcd", "abcde", "abcde"]


@pytest.mark.django_db(transaction=True)
def test_a_word_that_was_lost_to_a_rollback_is_made_up_for() -> None:
    keyed(2)
    admit_all(["work"])
    [running] = take()
    with sessions(1) as [canceller]:
        canceller.begin()
        canceller.do(lambda: Job.objects.filter(hold="key").delete())
        assert done(running)
        canceller.rollback()
    admit_all(["work"])
    assert take() == []
    assert wake_forsaken(connection) == 1
    admit_all(["work"])
    assert len(take()) == 1
