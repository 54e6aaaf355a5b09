"""What a command prints: data on standard output, as a table or as JSON, and words about it on standard error."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.core.management.base import OutputWrapper

from jobs_app.text import one_line

SCHEMA = 1  # raised when a key of the JSON changes its meaning or goes
NOTHING = "-"
CLEAR_LINE = "\x1b[K"


class Output:
    def __init__(self, stdout: OutputWrapper, stderr: OutputWrapper, *, as_json: bool) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self.as_json = as_json

    def json(self, data: Mapping[str, Any] | Sequence[Any]) -> None:
        """A plain list is told as it is; everything else says which schema it has."""
        document = {"schema": SCHEMA, **data} if isinstance(data, Mapping) else data
        self._stdout.write(json.dumps(document, default=_json_value, ensure_ascii=False, indent=2))

    def table(self, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        for line in table_lines(headers, rows):
            self.line(line)

    def fields(self, values: Mapping[str, object]) -> None:
        """One `name   value` per line, without those that say nothing."""
        told = {name: shown(value) for name, value in values.items() if value not in (None, "")}
        width = max(map(len, told), default=0)
        for name, value in told.items():
            self.line(f"{name.ljust(width)}  {value}")

    def line(self, text: str = "") -> None:
        self._stdout.write(text)

    @property
    def terminal(self) -> OutputWrapper | None:
        """Standard output where a person sees it change: for what is drawn there."""
        return self._stdout if self._stdout.isatty() else None

    def flush(self) -> None:
        """For whoever reads along while more is to come."""
        self._stdout.flush()

    def note(self, text: str) -> None:
        """For the person who reads along; never part of the data."""
        self._stderr.write(text, str)  # not in the colour of errors

    @property
    def is_watched(self) -> bool:
        """Does a terminal show what is noted?"""
        return self._stderr.isatty()

    def redraw(self, text: str) -> None:
        """In the place of what was drawn before; nothing to end it."""
        self._stderr.write(f"\r{CLEAR_LINE}{text}", str, ending="")


def table_lines(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Columns as wide as they need; numbers to the right."""
    body = [list(row) for row in rows]
    cells = [list(headers), *([shown(value) for value in row] for row in body)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(headers))]
    right = [all(isinstance(row[place], int) for row in body) and bool(body) for place in range(len(headers))]
    lines = []
    for line in cells:
        padded = (
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, right, strict=True)
        )
        lines.append("  ".join(padded).rstrip())
    return lines


def shown(value: object) -> str:
    """A value as one line of text for people."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=_json_value)
    return one_line(value)


def _json_value(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
