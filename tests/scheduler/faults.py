"""What happens to a process at a statement, whatever way that goes to the database: savepoints and COMMIT count too."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator
from itertools import count
from typing import Any

import psycopg
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

Send = Callable[[], object]
Act = Callable[[bool, Send], None]


def before_each_statement(act: Act) -> None:
    """From the next connection of this process on: `act(is_commit, send)`, where `send` lets the statement go without
    waiting for what becomes of it.

    Right after a statement is right before the next one: in between nothing happens that lasts.
    """
    wait = psycopg.Connection.wait

    def watched(self: psycopg.Connection[Any], talk: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        if talk.__name__ != "_set_autocommit_gen":  # which says nothing to the server
            act(talk.__name__ == "_commit_gen", lambda: next(talk, None))
        return wait(self, talk, *args, **options)

    psycopg.Connection.wait = watched  # type: ignore[method-assign]  # every cursor and every commit ends there

    def trace(connection: BaseDatabaseWrapper, **_: Any) -> None:
        if connection.vendor == "sqlite":
            connection.connection.set_trace_callback(lambda sql: act(sql == "COMMIT", lambda: None))

    connection_created.connect(trace, weak=False)


def die_at(number: int) -> None:
    """As kill -9 would have it, right before this statement of the process."""
    statements = count(1)

    def act(is_commit: bool, send: Send) -> None:
        if next(statements) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    before_each_statement(act)


def die_at_commit(number: int) -> None:
    """The same with the word on its way: the process never learns whether this COMMIT came to pass."""
    commits = count(1)

    def act(is_commit: bool, send: Send) -> None:
        if is_commit and next(commits) == number:
            send()
            os.kill(os.getpid(), signal.SIGKILL)

    before_each_statement(act)


class Refusal:
    """For `connection.execute_wrapper`: the database refuses the statement of this number."""

    def __init__(self, number: int) -> None:
        self._left = number
        self.is_done = False

    def __call__(self, execute: Callable[..., Any], *statement: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            self.is_done = True
            raise OperationalError("the server is restarting")
        return execute(*statement)
