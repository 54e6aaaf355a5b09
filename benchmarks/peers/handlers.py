"""What a measured job does, for the libraries that take a plain function. `query` needs Django to be set up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from benchmarks.peers import program


def noop(n: int) -> None:
    program.record(n)


def sleep(n: int) -> None:
    program.record(n)
    time.sleep(program.SLEEP_SECONDS)


async def async_sleep(n: int) -> None:
    program.record(n)
    await asyncio.sleep(program.SLEEP_SECONDS)


def query(n: int) -> None:
    from django.contrib.auth.models import User

    program.record(n)
    User.objects.filter(pk=n).exists()


def chosen(*known: Callable[[int], Any]) -> Callable[[int], Any]:
    """The one of `known` that BENCH_HANDLER names."""
    by_name = {handler.__name__: handler for handler in known}
    if program.HANDLER not in by_name:
        raise SystemExit(f"BENCH_HANDLER is {program.HANDLER!r}; this program knows {', '.join(by_name)}.")
    return by_name[program.HANDLER]
