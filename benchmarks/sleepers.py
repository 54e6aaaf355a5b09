"""What Python itself allows: so many threads, or tasks of one event loop, that note a start and sleep, and no queue.

`BENCH_SLEEP_MS=10 BENCH_TIMES=file python -m benchmarks.sleepers sleep 50 4000` prints the jobs in a second. asyncio
wakes a task up to a millisecond late, and waking 50 threads a thousand times a second is more than one interpreter
does: so 50 at once of 1 ms each are not 50,000 in a second, with any library.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time

from benchmarks.peers import handlers


def threads(at_once: int, each: int) -> None:
    def work() -> None:
        for n in range(each):
            handlers.sleep(n)

    started = [threading.Thread(target=work) for _ in range(at_once)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


async def tasks(at_once: int, each: int) -> None:
    async def work() -> None:
        for n in range(each):
            await asyncio.create_task(handlers.async_sleep(n))

    await asyncio.gather(*[work() for _ in range(at_once)])


def main(handler: str, at_once: int, jobs: int) -> None:
    each = jobs // at_once
    began = time.perf_counter()
    if handler == "async_sleep":
        asyncio.run(tasks(at_once, each))
    else:
        threads(at_once, each)
    print(json.dumps({"rate": at_once * each / (time.perf_counter() - began)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
