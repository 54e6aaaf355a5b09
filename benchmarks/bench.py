"""What a benchmark is given: the stores, the programs, how much to do. And what it gives: steps, each with figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.draining import Drain
from benchmarks.figures import Figure
from benchmarks.program_description import POSTGRES, REDIS, REDIS_AND_POSTGRES, SQLITE, Program
from benchmarks.redis_store import Redis, RedisAndPostgres
from benchmarks.rig import Rig
from benchmarks.stores import Postgres, Sqlite, Store


@dataclass(frozen=True)
class Step:
    """One run of one case: what the progress line says, and the doing of it."""

    title: str
    act: Callable[[], list[Figure]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much is asked for."""

    jobs: int  # of a drain
    repeat: int
    history: int  # finished runs of `growth`
    behind: int  # jobs queued behind the measured ones, of `growth`
    churn: int  # jobs worked off while an old snapshot is held, of `growth`
    held_minutes: float  # the same under full load for so long; 0: not measured
    cap_seconds: float  # a drain slower than this is ended; its rate is that of the time until then

    @property
    def repeat_long(self) -> int:
        """Of the works whose runs are long or hold many values in themselves: all must end within ten minutes."""
        return max(self.repeat // 3, 1)

    def drain(self, **said: Any) -> Drain:
        return Drain(**{"jobs": self.jobs, "cap_seconds": self.cap_seconds} | said)


class Bench:
    def __init__(self, programs: list[Program], plan: Plan, stores: dict[str, Store], folder: Path) -> None:
        self.programs = programs
        self.plan = plan
        self._stores = stores
        self._folder = folder

    def rigs(self, *kinds: str) -> list[Rig]:
        """Each program on the first of these stores that it knows."""
        rigs = []
        for program in self.programs:
            known = [kind for kind in kinds if kind in program.stores and kind in self._stores]
            if known:
                rigs.append(self.rig(program, known[0]))
        return rigs

    def rig(self, program: Program, kind: str) -> Rig:
        return Rig(program, self._stores[kind], self._folder)

    @property
    def postgres(self) -> Postgres:
        store = self._stores[POSTGRES]
        assert isinstance(store, Postgres)
        return store

    def forget_all(self) -> None:
        for store in self._stores.values():
            store.forget_all()


@contextmanager
def open_bench(url: str, programs: list[Program], plan: Plan) -> Iterator[Bench]:
    """The stores that the programs need, all of them gone at the end."""
    wanted = {kind for program in programs for kind in program.stores}
    with TemporaryDirectory(prefix="jobs-app-bench-") as name:
        folder = Path(name)
        postgres = Postgres(url)
        stores: dict[str, Store] = {POSTGRES: postgres, SQLITE: Sqlite(folder)}
        redis = Redis(folder) if wanted & {REDIS, REDIS_AND_POSTGRES} else None
        if redis:
            stores |= {REDIS: redis, REDIS_AND_POSTGRES: RedisAndPostgres(redis, postgres)}
        bench = Bench(programs, plan, stores, folder)
        try:
            yield bench
        finally:
            bench.forget_all()
            if redis:
                redis.stop()
