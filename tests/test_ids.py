"""Ids sort by time, are made in order, and slots always get the same one."""

from __future__ import annotations

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app import ids
from jobs_app.ids import slot_id, uuid7

SLOT = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)


def milliseconds_of(identity: UUID) -> int:
    return identity.int >> 80


def test_an_id_is_a_uuid_of_version_7_with_the_present_time() -> None:
    before = time.time_ns() // 1_000_000
    identity = uuid7()
    assert identity.version == 7
    assert identity.variant == RFC_4122
    assert before <= milliseconds_of(identity) <= before + 10_000


def test_ids_of_one_process_sort_in_the_order_they_were_made() -> None:
    made = [uuid7() for _ in range(20_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_threads_never_make_the_same_id() -> None:
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(lambda _: [uuid7() for _ in range(2_000)], range(8)))
    assert all(batch == sorted(batch) for batch in batches)
    assert len({identity for batch in batches for identity in batch}) == 16_000


def test_a_clock_that_is_set_back_does_not_break_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    first = uuid7()
    monkeypatch.setattr(ids.time, "time_ns", lambda: 1_000_000)
    assert first < uuid7() < uuid7()


def test_a_seeded_random_module_does_not_repeat_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids.time, "time_ns", lambda: 4_000_000_000_000_000_000)
    made = set()
    for _ in range(2):
        random.seed(1)
        monkeypatch.setattr(ids, "_sequence", ids._Sequence())
        made.add(uuid7())
    assert len(made) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_does_not_go_on_with_the_numbers_of_its_parent() -> None:
    def following(_: int) -> bytes:
        reading, writing = os.pipe()
        if not (child := os.fork()):
            os.write(writing, uuid7().bytes)
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writing)
        with os.fdopen(reading, "rb") as answer:
            return answer.read()

    uuid7()
    assert len({following(number) for number in range(5)}) == 5


def test_given_time_and_random_bytes_decide_the_id() -> None:
    assert uuid7(0x0123456789AB, bytes(10)) == UUID("01234567-89ab-7000-8000-000000000000")
    assert uuid7(0, b"\xff" * 10) == UUID("00000000-0000-7fff-bfff-ffffffffffff")
    assert milliseconds_of(uuid7(5)) == 5


def test_a_slot_always_has_the_same_id() -> None:
    assert slot_id("deal", "f01", "", SLOT) == slot_id("deal", "f01", "", SLOT)
    elsewhere = SLOT.astimezone(timezone(timedelta(hours=5)))
    assert slot_id("deal", "f01", "", elsewhere) == slot_id("deal", "f01", "", SLOT)


def test_a_slot_id_is_a_uuid_of_version_8_with_the_slots_time() -> None:
    identity = slot_id("deal", "f01", "", SLOT)
    assert identity.version == 8
    assert identity.variant == RFC_4122
    assert milliseconds_of(identity) == int(SLOT.timestamp() * 1000)


def test_every_part_of_a_slot_counts() -> None:
    others = [
        slot_id("deals", "f01", "", SLOT),
        slot_id("deal", "f02", "", SLOT),
        slot_id("deal", "f01", "night", SLOT),
        slot_id("deal", "f01", "", SLOT + timedelta(microseconds=1)),
        slot_id("deal", "", "f01", SLOT),
        slot_id("dealf01", "", "", SLOT),
    ]
    assert len({slot_id("deal", "f01", "", SLOT), *others}) == 7


def test_a_slot_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        slot_id("deal", "", "", SLOT.replace(tzinfo=None))


@given(
    st.timedeltas(timedelta(0), timedelta(days=36500)), st.timedeltas(timedelta(milliseconds=1), timedelta(days=999))
)
def test_slot_ids_sort_by_slot(since_1970: timedelta, later: timedelta) -> None:
    slot = ids.EPOCH + since_1970
    assert slot_id("a", "", "", slot) < slot_id("a", "", "", slot + later)
