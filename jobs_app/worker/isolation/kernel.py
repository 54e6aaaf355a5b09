"""What only the operating system can promise about processes. Where it cannot, nothing happens and nothing breaks."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

IS_LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
ROOM_BYTES = 1 << 30  # 8 MB for the stack of each thread, and whatever else is asked for and not used
FIRST_TO_GO = 500  # of 1000: when memory runs out the system shall take a job and not its worker


def adopt_orphans() -> None:
    """Processes whose parent ends become children of this one and not of init, whatever session they are in."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """End at once when the parent does, even inside C code that never returns."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was quicker
        os._exit(1)


def offer_to_oom_killer() -> None:
    if IS_LINUX:
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(str(FIRST_TO_GO), encoding="ascii")


def has_children(ended: Callable[[int, int], object] = lambda pid, status: None) -> bool:
    """Asked of the system, which also forgets those that have ended: `ended` hears of each, with its status."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        ended(pid, status)


@contextmanager
def allowed_to_grow_by(size: int | None) -> Iterator[None]:
    """Within, what would take this process far beyond that is a MemoryError; what is measured is the limit itself.

    Far, since the system counts here what is not memory yet, like the stacks of threads, and since processes that the
    handler starts inherit it.
    """
    if size is None or not IS_LINUX:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = psutil.Process().memory_info().data + 2 * size + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def is_larger_below(pid: int, limit: int) -> bool:
    """Whether all processes under this one have more bytes than that together.

    A page that forks share counts once. That is slow to ask, so it is asked only where the quick sum is over the limit.
    """
    try:
        found = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return False
    return sum(map(_resident, found)) > limit and sum(map(_fair_share, found)) > limit


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:  # gone meanwhile
        return 0


def _fair_share(process: psutil.Process) -> int:
    """Where the system does not tell, what it has alone."""
    try:
        info = process.memory_full_info()
    except psutil.Error:
        return 0
    return int(getattr(info, "pss", info.uss))


def _prctl(option: int, value: int) -> None:
    if IS_LINUX:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
