"""Eight schedulers at once, with clocks that are apart and go back, that die and are refused at random statements.

Time is simulated: it moves on when each of them has had a look. Who dies is followed by another.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from multiprocessing.sharedctypes import RawArray
from random import Random

import django

SKEWS = (-90, -90, 0, 0, 0, 30, 90, 90)  # seconds
HOUR = 3600
LONGEST_STEP = 45  # seconds
LONGEST_LIFE = 120  # statements
GOES_BACK, IS_REFUSED = 0.1, 0.2  # of the looks


class Shared:
    """What all of the processes see: the time in seconds after noon, when each seat looked last, and some counts."""

    def __init__(self) -> None:
        self.looked = RawArray("d", [-1.0] * len(SKEWS))
        self._rest = RawArray("d", [0.0, 0.0])

    @property
    def clock(self) -> float:
        return self._rest[0]

    @clock.setter
    def clock(self, seconds: float) -> None:
        self._rest[0] = seconds

    @property
    def is_over(self) -> bool:
        return bool(self._rest[1])

    def end(self) -> None:
        self._rest[1] = 1

    def all_looked(self) -> bool:
        return all(moment == self.clock for moment in self.looked)


class Swarm:
    """The parent. It never speaks to the database, so that each child has a connection of its own."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._random = Random(seed)
        self._shared = Shared()
        self._seats: dict[int, int] = {}  # process -> seat
        self.born = self.killed = 0

    def run(self, end: float) -> None:
        for seat in range(len(SKEWS)):
            self._bear(seat)
        while self._seats:
            if not self._bury() and not self._move_on(end):
                time.sleep(0.001)

    def _bear(self, seat: int) -> None:
        self.born += 1
        child = os.fork()
        if child == 0:
            os._exit(_exit_code(self._shared, seat, Random(f"{self._seed} {self.born}")))
        self._seats[child] = seat

    def _bury(self) -> bool:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return False
        seat, code = self._seats.pop(child), os.waitstatus_to_exitcode(status)
        if code not in (0, -signal.SIGKILL):
            sys.exit(f"the scheduler at seat {seat} ended with {code}")
        if code:
            self.killed += 1
            self._bear(seat)
        return True

    def _move_on(self, end: float) -> bool:
        shared = self._shared
        if shared.is_over or not shared.all_looked():
            return False
        if shared.clock == end:
            shared.end()
        shared.clock = min(end, shared.clock + self._random.randint(1, LONGEST_STEP))
        return True


def _exit_code(shared: Shared, seat: int, random: Random) -> int:
    from tests.scheduler.faults import die_at

    try:
        die_at(random.randint(1, LONGEST_LIFE))
        while not shared.is_over:
            if os.getppid() == 1:
                return 1
            if shared.looked[seat] == shared.clock:
                time.sleep(0.001)
                continue
            clock = shared.clock
            _look(clock + SKEWS[seat], random)
            shared.looked[seat] = clock
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _look(seconds: float, random: Random) -> None:
    from django.db import DatabaseError, InterfaceError, connection

    from jobs_app.lifecycle.database import frozen_clock
    from jobs_app.scheduler.tick import tick
    from tests.scheduler.faults import Refusal
    from tests.scheduler.schedules import after

    if random.random() < GOES_BACK:
        seconds -= HOUR
    refusal = Refusal(random.randint(1, 30) if random.random() < IS_REFUSED else 0)
    try:
        with frozen_clock(after(seconds)), connection.execute_wrapper(refusal):
            tick(connection, limit=random.choice([3, 20, 500]))
    except (DatabaseError, InterfaceError):
        if not refusal.is_done:
            raise
        connection.close()


if __name__ == "__main__":
    django.setup()
    from tests.scheduler.everything import declare

    declare()
    swarm = Swarm(sys.argv[1])
    swarm.run(float(sys.argv[2]))
    sys.stdout.write(json.dumps({"born": swarm.born, "killed": swarm.killed}))
