"""Who of a worker's own threads computes, where several have much to compute.

Python runs one thread at a time. A thread that waits to be the one is woken whenever the running one makes a system
call, mostly for nothing: measured, 9 us for each job that writes a few bytes, as much as all the rest of it. So the
threads of a worker that have a batch before them take turns, and whose turn it is meets no other. It is a courtesy, not
a lock that anything relies on: who has waited for long goes on without.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 0.02

_turn = threading.Lock()
_first_in_line = threading.Lock()  # or the one who gave its turn away would be the quickest to take it again
_handlers = threading.Lock()  # of the many threads that run them, one stands in line
_computes = 0  # the thread whose turn it is


@contextmanager
def computing() -> Iterator[None]:
    """Take a turn: some milliseconds at most, and never while waiting for something. A turn within a turn is none."""
    global _computes
    if _computes == threading.get_ident():
        yield
        return
    with _first_in_line:
        is_mine = _turn.acquire(timeout=PATIENCE_SECONDS)
    if is_mine:
        _computes = threading.get_ident()
    try:
        yield
    finally:
        if is_mine:
            _computes = 0
            _turn.release()


@contextmanager
def running_handlers() -> Iterator[None]:
    """The same for a thread that runs tiny jobs: claims and reports, which all wait for, have every other turn."""
    is_mine = _handlers.acquire(timeout=PATIENCE_SECONDS)
    try:
        with computing():
            yield
    finally:
        if is_mine:
            _handlers.release()
