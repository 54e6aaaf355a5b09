"""Files that are written while they are sent: CSV for tables, JSON lines for programs, however many rows there are."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import StreamingHttpResponse

CSV, JSON_LINES = "csv", "jsonl"
FORMATS = {CSV: "text/csv", JSON_LINES: "application/x-ndjson"}
FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r", "\n")  # a spreadsheet would compute such a cell


def stream(rows: Iterable[Mapping[str, Any]], *, columns: Sequence[str], kind: str, name: str) -> StreamingHttpResponse:
    """The rows as a file of this kind; what a browser would make of it does not matter, since it keeps it."""
    lines = _csv(rows, columns) if kind == CSV else _json_lines(rows)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"', "X-Content-Type-Options": "nosniff"}
    return StreamingHttpResponse(lines, content_type=f"{FORMATS[kind]}; charset=utf-8", headers=headers)


class _Echo:
    """A file that gives back what is written to it."""

    def write(self, text: str) -> str:
        return text


def _csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow([_cell(row[name]) for name in columns])


def _json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, default=_plain) + "\n"  # as ASCII: whatever was stored can be sent


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    text = json.dumps(value, default=_plain) if isinstance(value, dict | list) else str(_plain(value))
    text = text.encode("utf-8", "backslashreplace").decode()
    return f"'{text}" if text.startswith(FORMULA_BEGINS) else text


def _plain(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
