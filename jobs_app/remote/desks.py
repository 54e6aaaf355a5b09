"""The desks of this web process: one for each choice of queues and job types that remote workers pull from."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from jobs_app.registry import SYSTEM_NAMES, JobType
from jobs_app.serving import Serving
from jobs_app.worker.desk import Desk
from jobs_app.worker.ration import Ration

MOST_DESKS = 200  # the one that was asked at longest ago goes first


@dataclass(frozen=True)
class Choice:
    """Whose jobs somebody wants: what it asks for, as far as its token lets it. Names or patterns, and no queues are
    all of them."""

    queues: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    job_types: frozenset[str] = frozenset()

    def serves(self, queue: str) -> bool:
        return Serving(self.queues)(queue) and Serving(self.allowed)(queue)

    def takes(self, job_type: JobType) -> bool:
        """What commits together with its handler can only run here."""
        is_ours = job_type.name.startswith(SYSTEM_NAMES)
        return job_type.name in self.job_types and not job_type.atomic and not is_ours


class Desks:
    def __init__(self) -> None:
        self._desks: OrderedDict[Choice, Desk] = OrderedDict()
        self._lock = threading.Lock()
        self._ration = Ration()  # one for all: who asks for something else each time has a new desk each time

    def of(self, choice: Choice) -> Desk:
        with self._lock:
            desk = self._desks.get(choice)
            if desk is None:
                desk = self._desks[choice] = Desk(serves=choice.serves, takes=choice.takes, ration=self._ration)
            self._desks.move_to_end(choice)
            if len(self._desks) > MOST_DESKS:
                self._desks.popitem(last=False)
            return desk

    def freed(self, queue: str) -> None:
        """Something of this queue ended, as a report says that came to this process."""
        with self._lock:
            all_of_them = list(self._desks.values())
        for desk in all_of_them:
            desk.freed(queue)

    def clear(self) -> None:
        with self._lock:
            self._desks.clear()
            self._ration = Ration()


desks = Desks()
