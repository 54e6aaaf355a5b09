"""jobs_app as a measured program whose workers pull and report over HTTP; its other commands are `jobs_app_peer`'s.

A worker is told by its environment, beside what `benchmarks/peers/program.py` has:

| variable | meaning |
|---|---|
| BENCH_SERVER, BENCH_TOKEN | where jobs_app.urls is included, and who asks |
| BENCH_QUEUE | what it pulls from |
| BENCH_WAIT | seconds that a pull waits for a job |
| BENCH_WAITERS | pulls at once, each as a worker of its own |
| BENCH_NAME | how the names of these workers begin |
| BENCH_CALLS | the file in which the times of the calls are noted: see `calls.py` |
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from benchmarks.calls import notebook
from benchmarks.peers import program
from jobs_app.client import JobsClient

EMPTY_SECONDS = 0.02  # after a pull that brought nothing, where pulls do not wait


def main() -> None:
    if sys.argv[1:] != ["worker"]:
        runpy.run_module("benchmarks.jobs_app_peer", run_name="__main__")
        return
    names = [f"{os.environ['BENCH_NAME']}-{os.getpid()}-{number}" for number in range(int(os.environ["BENCH_WAITERS"]))]
    for name in names[1:]:
        threading.Thread(target=work, args=(name,), daemon=True).start()
    work(names[0])


def work(name: str) -> None:
    """Until killed. An error ends all workers of this process, so that it is seen."""
    client = JobsClient(os.environ["BENCH_SERVER"], os.environ["BENCH_TOKEN"])
    note, wait = notebook(os.environ["BENCH_CALLS"]), int(os.environ["BENCH_WAIT"])
    try:
        while True:
            if not turn(client, name, queue=os.environ["BENCH_QUEUE"], wait=wait, note=note) and not wait:
                time.sleep(EMPTY_SECONDS)
    except Exception:
        traceback.print_exc()
        os._exit(1)


def turn(client: Any, name: str, *, queue: str, wait: int, note: Callable[[float, float], None]) -> bool:
    """One job, noted when it is in hand, and done with its report. False: there was none."""
    began = time.perf_counter()
    job = client.pull(name, queues=[queue], wait_sec=wait)["job"]
    pulled = time.perf_counter()
    if job is None:
        return False
    program.record(job["payload"]["n"])
    started = time.perf_counter()
    client.report(job["job_id"], job["token"], done=True)
    note((pulled - began) * 1000, (time.perf_counter() - started) * 1000)
    return True


if __name__ == "__main__":
    main()
