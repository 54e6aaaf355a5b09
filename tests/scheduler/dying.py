"""Rounds of a scheduler, each in a process of its own that dies where the test says. A fork costs it 30 ms."""

from __future__ import annotations

import os
import sys
import traceback
from datetime import datetime

import django


def main() -> None:
    from tests.scheduler.everything import declare

    declare()
    for line in sys.stdin:  # nothing was asked of the database yet, so that each child has its own connection
        fate, number, moment = line.split()
        child = os.fork()
        if child == 0:
            os._exit(live(fate, int(number), datetime.fromisoformat(moment)))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def live(fate: str, number: int, moment: datetime) -> int:
    from jobs_app.lifecycle.database import frozen_clock
    from tests.scheduler import faults
    from tests.scheduler.everything import work_round

    try:
        getattr(faults, fate)(number)
        with frozen_clock(moment):
            work_round()
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    django.setup()
    main()
