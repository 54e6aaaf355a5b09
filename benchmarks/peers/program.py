"""What every measured program shares: how a handler notes that it started, and the command line that a harness uses.

A program is run as `program COMMAND`, told by its environment where to work:

| variable | meaning |
|---|---|
| BENCH_URL | the database: postgresql://... or sqlite:///path |
| BENCH_REDIS | redis://..., for those that need one |
| BENCH_PROFILE | `tuned` or `default` |
| BENCH_TIMES | the file in which job n notes its start: nanoseconds, a little-endian int64 at offset 8 * n |
| BENCH_HANDLER | what the job does after that: `noop`, `sleep`, `async_sleep` or `query` |
| BENCH_SLEEP_MS | how long it sleeps |
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import time
from collections.abc import Callable, Sequence

URL = os.environ.get("BENCH_URL", "")
REDIS = os.environ.get("BENCH_REDIS", "")
IS_TUNED = os.environ.get("BENCH_PROFILE", "tuned") == "tuned"
HANDLER = os.environ.get("BENCH_HANDLER", "noop")
SLEEP_SECONDS = float(os.environ.get("BENCH_SLEEP_MS", "0")) / 1000

_pack = struct.Struct("<q").pack
_times: int | None = None


def record(n: int) -> None:
    """Note that job `n` started."""
    global _times
    if _times is None:
        _times = os.open(os.environ["BENCH_TIMES"], os.O_WRONLY)
    os.pwrite(_times, _pack(time.time_ns()), 8 * n)


def portions(numbers: Sequence[int], size: int = 1000) -> list[Sequence[int]]:
    """What a bulk enqueue takes at a time."""
    return [numbers[first : first + size] for first in range(0, len(numbers), size)]


def main(
    *,
    setup: Callable[[], object],
    single: Callable[[int], object],
    bulk: Callable[[Sequence[int]], object] | None,
    worker: Callable[[], object],
    warm: Callable[[], object] = lambda: None,
) -> None:
    """Do what the command line says. `warm` opens the connection before the clock starts."""
    asked = _arguments()
    if asked.command == "setup":
        setup()
    elif asked.command == "worker":
        worker()
    else:
        warm()
        numbers = range(asked.start, asked.start + asked.count)
        print(json.dumps(_enqueue(asked, numbers, single, bulk)), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("setup", help="create the schema in an empty database")
    commands.add_parser("worker", help="work until killed")
    for name, told in (("single", "one call, one transaction each"), ("bulk", "by the bulk call, 1,000 at a time")):
        command = commands.add_parser(name, help=f"enqueue jobs START, START + 1, ...: {told}")
        command.add_argument("count", type=int)
        command.add_argument("start", type=int)
    paced = commands.add_parser("paced", help="the same, one every GAP milliseconds")
    paced.add_argument("count", type=int)
    paced.add_argument("gap", type=float)
    paced.add_argument("start", type=int)
    return parser.parse_args()


def _enqueue(
    asked: argparse.Namespace,
    numbers: Sequence[int],
    single: Callable[[int], object],
    bulk: Callable[[Sequence[int]], object] | None,
) -> dict[str, object]:
    if asked.command == "paced":
        return {"returned": _paced(numbers, asked.gap / 1000, single)}
    if asked.command == "bulk" and bulk is None:
        return {"seconds": None}
    began = time.perf_counter()
    if asked.command == "bulk" and bulk is not None:
        for portion in portions(numbers):
            bulk(portion)
    else:
        for n in numbers:
            single(n)
    return {"seconds": time.perf_counter() - began}


def _paced(numbers: Sequence[int], gap: float, single: Callable[[int], object]) -> list[int]:
    """When each call returned, in nanoseconds."""
    returned = []
    due = time.perf_counter()
    for n in numbers:
        due += gap
        single(n)
        returned.append(time.time_ns())
        time.sleep(max(0.0, due - time.perf_counter()))
    return returned
