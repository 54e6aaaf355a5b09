"""Chunks: what one parks, what one gives back, and where it stopped."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.lifecycle import parking
from jobs_app.lifecycle.parking import BEGINNING, open_chunk, park_chunk
from jobs_app.lifecycle.pauses import Pauses
from jobs_app.models import Job
from tests.lifecycle.rows import stored

pytestmark = pytest.mark.django_db

SHOP = Pauses(subjects=frozenset({"shop-7"}))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "ROWS_PER_CHUNK", 3)


def holds() -> list[str]:
    return list(Job.objects.order_by("pk").values_list("hold", flat=True))


@pytest.mark.parametrize("hold", ["", "new", "key", "limit"])
def test_what_waits_is_parked_whatever_it_waits_for(hold: str) -> None:
    stored(2, subject="shop-7")
    Job.objects.update(hold=hold)
    assert park_chunk(connection, SHOP, BEGINNING).moved == 2
    assert holds() == ["pause", "pause"]


@pytest.mark.parametrize(("gate", "hold"), [(0, ""), (1, "limit"), (2, "new")])
def test_what_comes_back_waits_before_its_gate(gate: int, hold: str) -> None:
    stored(1, subject="shop-7", gate=gate)
    Job.objects.update(hold="pause")
    assert open_chunk(connection, Pauses(), BEGINNING).moved == 1
    assert holds() == [hold]


def test_a_parked_job_gives_up_its_key_and_the_next_one_is_looked_at() -> None:
    owner, mine, theirs = (
        stored(1, subject=subject, policy="singleton", key="k", gate=2)[0] for subject in ("shop-7", "shop-7", "shop-8")
    )
    Job.objects.filter(pk=owner).update(hold="")
    Job.objects.filter(pk__in=[mine, theirs]).update(hold="key")
    park_chunk(connection, SHOP, BEGINNING)
    assert holds() == ["pause", "pause", "new"]


def test_a_chunk_reads_and_writes_so_many_and_says_where_it_stopped() -> None:
    ids = [stored(1, subject=subject)[0] for subject in ["shop-7", "shop-8"] * 3]
    first = park_chunk(connection, SHOP, BEGINNING)
    assert first == (2, ids[2])
    assert park_chunk(connection, SHOP, ids[2]) == (1, ids[5])
    assert park_chunk(connection, SHOP, ids[5]) == (0, None)
    assert open_chunk(connection, SHOP, BEGINNING) == (0, ids[4])
    assert open_chunk(connection, Pauses(), BEGINNING) == (3, ids[4])
    assert open_chunk(connection, Pauses(), ids[4]) == (0, None)
