"""A Redis of one's own for the programs that keep their jobs there. A state is a dump that it is started from."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.stores import Postgres
from jobsite.processes import free_port

HOST = "127.0.0.1"
START_SECONDS = 10
LENGTH = {"list": "LLEN", "set": "SCARD", "zset": "ZCARD", "stream": "XLEN", "hash": "HLEN"}


class Redis:
    """Nothing is written to the disk but the dumps of states: a queue in memory, at its fastest."""

    kind = "redis"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._dump = folder / "dump.rdb"
        self._port = free_port(HOST, 0)
        self._server: subprocess.Popen[bytes] | None = None

    def environment(self) -> dict[str, str]:
        return {"BENCH_REDIS": f"redis://{HOST}:{self._port}/0"}

    def clear(self) -> None:
        self.stop()
        self._dump.unlink(missing_ok=True)
        self._start()

    def keep(self, state: str) -> None:
        self._ask("SAVE")
        shutil.copy(self._dump, self._file_of(state))

    def is_kept(self, state: str) -> bool:
        return self._file_of(state).exists()

    def restore(self, state: str) -> None:
        self.stop()
        shutil.copy(self._file_of(state), self._dump)
        self._start()

    def forget_all(self) -> None:
        for path in self._folder.glob("kept-*.rdb"):
            path.unlink()

    def settle(self, *, analyze: bool = True) -> None:
        """Nothing is waiting to be written."""

    def count(self, sql: str, parameters: Mapping[str, Any]) -> int:
        raise NotImplementedError("Redis has no SQL")

    def run(self, sql: str, parameters: Mapping[str, Any]) -> None:
        raise NotImplementedError("Redis has no SQL")

    def now(self) -> Any:
        return None

    def waiting(self, patterns: Sequence[str]) -> int:
        """The length of every key that one of the patterns names."""
        keys = {key for pattern in patterns for key in self._ask("KEYS", pattern)}
        kinds = {key: self._ask("TYPE", key) for key in keys}
        return sum(self._ask(LENGTH[kind], key) for key, kind in kinds.items() if kind in LENGTH)

    def stop(self) -> None:
        if self._server:
            self._server.kill()
            self._server.wait()
            self._server = None

    def _start(self) -> None:
        command = ["redis-server", "--port", str(self._port), "--bind", HOST, "--dir", str(self._folder)]
        command += ["--save", "", "--appendonly", "no", "--dbfilename", self._dump.name]
        self._server = subprocess.Popen(command, stdout=subprocess.DEVNULL, process_group=0)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                if self._ask("PING") == "PONG":
                    return
            except (ConnectionError, RuntimeError):  # not there yet, or still reading its dump
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.02)

    def _file_of(self, state: str) -> Path:
        return self._folder / f"kept-{state}.rdb"

    def _ask(self, *words: str) -> Any:
        """One command in Redis's own protocol: small enough to need no client library."""
        request = f"*{len(words)}\r\n" + "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
        with socket.create_connection((HOST, self._port), timeout=30) as connection:
            connection.sendall(request.encode())
            with connection.makefile("rb") as answer:
                return _read(answer)


def _read(answer: Any) -> Any:
    line = answer.readline().decode().rstrip("\r\n")
    kind, rest = line[:1], line[1:]
    if kind == "+":
        return rest
    if kind == ":":
        return int(rest)
    if kind == "$":
        return answer.read(int(rest) + 2)[:-2].decode()
    if kind == "*":
        return [_read(answer) for _ in range(int(rest))]
    raise RuntimeError(f"Redis answered {line!r}")


class RedisAndPostgres:
    """A queue in Redis whose results go to PostgreSQL."""

    kind = "redis+postgres"

    def __init__(self, redis: Redis, postgres: Postgres) -> None:
        self._redis = redis
        self._postgres = postgres
        self.count, self.run, self.now = postgres.count, postgres.run, postgres.now
        self.settle, self.waiting = postgres.settle, redis.waiting

    def environment(self) -> dict[str, str]:
        return self._redis.environment() | self._postgres.environment()

    def clear(self) -> None:
        self._redis.clear()
        self._postgres.clear()

    def keep(self, state: str) -> None:
        self._redis.keep(state)
        self._postgres.keep(state)

    def is_kept(self, state: str) -> bool:
        return self._redis.is_kept(state) and self._postgres.is_kept(state)

    def restore(self, state: str) -> None:
        self._redis.restore(state)
        self._postgres.restore(state)

    def forget_all(self) -> None:
        """The two do it themselves."""
