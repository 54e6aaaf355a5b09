"""Watch it live: the verdict, the totals, the queues, who works, what runs and what failed. Press q to end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.core.management.base import CommandParser
from django.db import DatabaseError, InterfaceError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.insights.live_view import LiveReader, LiveView
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.management.arguments import period
from jobs_app.management.output import Output
from jobs_app.management.screen import Screen, may_color, painted, size
from jobs_app.management.top_document import document
from jobs_app.management.top_frame import frame

EVERY = 2.0


class Reading(NamedTuple):
    view: LiveView | None  # the last one that could be read
    problem: str = ""  # why there is no newer one


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--every", type=period, default=EVERY, metavar="TIME", help="read so often; 2s if left out")
    parser.add_argument("--once", action="store_true", help="print one frame and end, as where nobody can watch it")


def handle(options: dict[str, Any], out: Output) -> None:
    connection = jobs_connection()
    if options["once"] or (out.terminal is None and not out.as_json):
        _print(Reading(LiveReader(connection).read()), options, out)
    elif out.as_json or out.terminal is None:
        _stream(connection, options, out)
    else:
        _draw(connection, options, Screen(out.terminal))


def _print(reading: Reading, options: dict[str, Any], out: Output) -> None:
    if not out.as_json:
        for line in _lines(reading, options, is_terminal=out.terminal is not None):
            out.line(line)
    elif reading.problem or reading.view is None:
        out.json({"at": None, "problem": reading.problem})
    else:
        out.json(document(reading.view))


def _stream(connection: BaseDatabaseWrapper, options: dict[str, Any], out: Output) -> None:
    for reading in readings(connection):
        _print(reading, options, out)
        out.flush()
        time.sleep(options["every"])


def _draw(connection: BaseDatabaseWrapper, options: dict[str, Any], screen: Screen) -> None:
    with screen.open():
        for reading in readings(connection):
            screen.draw(_lines(reading, options, is_terminal=True))
            if screen.is_left_within(options["every"]):
                return


def readings(connection: BaseDatabaseWrapper) -> Iterator[Reading]:
    """One after the other, for ever. Who watches wants to see when the database comes back."""
    reader, last = LiveReader(connection), Reading(None)
    while True:
        try:
            last = Reading(reader.read())
        except (DatabaseError, InterfaceError) as error:
            connection.close()
            why = str(error).partition("\n")[0]
            last = Reading(last.view, f"The database could not answer: {why}")
        yield last


def _lines(reading: Reading, options: dict[str, Any], *, is_terminal: bool) -> list[str]:
    width, height = size()
    lines = frame(reading.view, width=width, height=height, every=options["every"], problem=reading.problem)
    return painted(lines, in_color=may_color(options, is_terminal=is_terminal))
