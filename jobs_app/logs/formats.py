"""The forms of a log line: a sentence for people, pairs or an object for programs. Always one line, but for the
traceback under a sentence."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from jobs_app.text import one_line

FORMAT = "[%(asctime)s] %(where)s%(levelname)s %(message)s"
PLAIN_VALUE = re.compile(r"[!#-<>-\[\]-~]+")  # in key=value without quotes: ASCII that shows, but for " = and \
UNFIT_FOR_KEY = re.compile(r"[^\w.-]")

FIRST = ("event", "worker", "job")
# What every record has, what the filter adds for the sentence alone, and our own names; the rest was given as `extra`.
NOT_EXTRA = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "where"}
NOT_EXTRA |= {*FIRST, "time", "level", "logger", "exception"}


class OneLineFormatter(logging.Formatter):
    """What a job logs cannot forge a line of its own: control characters are escaped, and the traceback stands a little
    to the right."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = one_line(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:
        return "\n".join(f"    {one_line(line)}" for line in super().formatException(ei).split("\n"))


class KeyValueFormatter(logging.Formatter):
    """`time=... level=warning event=job_failed job=... message="..."`, quoted where a value needs it."""

    def format(self, record: logging.LogRecord) -> str:
        facts = _facts(self, record).items()
        return " ".join(f"{UNFIT_FOR_KEY.sub('_', name)}={_quoted(value)}" for name, value in facts)


class JsonFormatter(logging.Formatter):
    """An object with the same names."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_facts(self, record))  # in ASCII, so that nothing in it ends the line


FORMATTERS: dict[str, Callable[[], logging.Formatter]] = {
    "text": partial(OneLineFormatter, FORMAT),
    "keyvalue": KeyValueFormatter,
    "json": JsonFormatter,
}


def _facts(formatter: logging.Formatter, record: logging.LogRecord) -> dict[str, Any]:
    """What a line says, in its order; what is empty is left out."""
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    facts = {
        "time": moment.replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "logger": record.name,
        **{name: getattr(record, name, "") for name in FIRST},
        "message": record.getMessage(),
        **{str(name): value for name, value in vars(record).items() if name not in NOT_EXTRA},
        "exception": _exception(formatter, record),
    }
    readable = {name: _readable(value) for name, value in facts.items()}
    return {name: value for name, value in readable.items() if value not in (None, "")}


def _exception(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    if record.exc_info and not record.exc_text:
        record.exc_text = formatter.formatException(record.exc_info)
    stack = formatter.formatStack(record.stack_info) if record.stack_info else ""
    return "\n".join(filter(None, [record.exc_text, stack]))


def _readable(value: Any) -> Any:
    """Itself where JSON has such values, else its text: anybody may give anything as `extra`."""
    try:
        json.dumps(value, allow_nan=False)
    except Exception:  # a line is worth more than one of its values
        return one_line(value)
    return value


def _quoted(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if PLAIN_VALUE.fullmatch(text) else json.dumps(text)
