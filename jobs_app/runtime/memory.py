"""How much memory this process has, and how often Python looks through it for garbage."""

from __future__ import annotations

import gc
import os
from pathlib import Path


def rss_bytes() -> int:
    """What is resident now; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def calm_collector() -> None:
    """For a process that has loaded all it needs, and will now make and drop thousands of small objects a second.

    What is loaded stays, so it is never looked through again: a full collection took 60 ms, in which no job ran. New
    objects are looked through less often: some thousand jobs in hand are not garbage.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
