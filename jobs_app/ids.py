"""Ids that sort by time: random ones for jobs, derived ones for the slots of a schedule."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)

# An id of versions 7 and 8: 48 bits of time, 4 of version, 12 free, 2 of variant, 62 free.
FREE_BITS = 74
LOW_BITS = 62
FREE_MASK = (1 << FREE_BITS) - 1
LOW_MASK = (1 << LOW_BITS) - 1
VARIANT = 0b10 << LOW_BITS

TAIL_BITS = 32  # random in each id, below what counts
HEADROOM = 1 << (LOW_BITS - 1)  # left out of a millisecond's first number, so that 2**29 more can follow


class _Sequence:
    """Numbers that only grow, so that the ids of one process sort in the order they were made.

    Each millisecond starts at a random number; every further id in it adds one above a random tail. When the
    clock is set back, time stands still until it has caught up.
    """

    def __init__(self) -> None:
        # Not the module's generator, which a handler may seed. os.urandom would cost as much as all the rest.
        self._random_bits = Random().getrandbits
        self._lock = threading.Lock()
        self._milliseconds = 0
        self._number = 0

    def advance(self) -> int:
        tail = self._random_bits(TAIL_BITS)
        with self._lock:
            now = time.time_ns() // 1_000_000
            if now > self._milliseconds:
                self._milliseconds = now
                free = self._random_bits(FREE_BITS - TAIL_BITS) << TAIL_BITS
                self._number = _compose(7, now, free & ~HEADROOM)
            else:
                self._number += 1 << TAIL_BITS
            return self._number | tail


_sequence = _Sequence()


def _start_again() -> None:
    global _sequence
    _sequence = _Sequence()


if hasattr(os, "register_at_fork"):
    # A child that went on with its parent's numbers would make the same ids, or wait for a lock that nobody holds.
    os.register_at_fork(after_in_child=_start_again)


def uuid7(milliseconds: int | None = None, random: bytes | None = None) -> UUID:
    """A new id (RFC 9562, version 7). With a time or 10 random bytes given it stands outside the order."""
    if milliseconds is None and random is None:
        return UUID(int=_sequence.advance())
    moment = time.time_ns() // 1_000_000 if milliseconds is None else milliseconds
    return UUID(int=_compose(7, moment, int.from_bytes(os.urandom(10) if random is None else random, "big")))


def slot_id(job_type: str, subject: str, name: str, slot: datetime) -> UUID:
    """The id of a slot's one job (RFC 9562, version 8): the same slot gives the same id, whoever asks."""
    if slot.tzinfo is None:
        raise ValueError("a slot needs a time zone")
    moment = slot.astimezone(UTC)
    identity = json.dumps([job_type, subject, name, moment.isoformat()])
    digest = hashlib.sha256(identity.encode()).digest()
    return UUID(int=_compose(8, (moment - EPOCH) // MILLISECOND, int.from_bytes(digest, "big")))


def _compose(version: int, milliseconds: int, free: int) -> int:
    free &= FREE_MASK
    return milliseconds << 80 | version << 76 | free >> LOW_BITS << 64 | VARIANT | free & LOW_MASK
