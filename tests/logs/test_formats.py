"""The forms of a line: each is one line, and none is lost to what somebody put into it."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from logging.config import dictConfig
from typing import Any

import pytest

from jobs_app import logs
from jobs_app.logs import FORMAT, JsonFormatter, KeyValueFormatter, OneLineFormatter, event


class Unshowable:
    def __str__(self) -> str:
        raise ValueError

    __repr__ = __str__


class Listed(logging.Handler):
    """Keeps its lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


def record(text: str = "it is so", *args: Any, **extra: Any) -> logging.LogRecord:
    given = {"msg": text, "args": args, "name": "jobs_app.worker", "levelname": "WARNING", "created": 0.25, **extra}
    return logging.makeLogRecord(given)


def raised() -> Any:
    try:
        raise ValueError("no\nway")
    except ValueError:
        return sys.exc_info()


def test_json_has_time_level_logger_and_what_the_event_gives() -> None:
    given = event("job_failed", job="abc", attempt=2, error="no way", subject="", duration_ms=None)
    assert json.loads(JsonFormatter().format(record("job=%s failed", "abc", **given))) == {
        "time": "1970-01-01T00:00:00.250Z",
        "level": "warning",
        "logger": "jobs_app.worker",
        "event": "job_failed",
        "job": "abc",
        "message": "job=abc failed",
        "attempt": 2,
        "error": "no way",
    }


def test_pairs_are_quoted_where_they_must_be() -> None:
    given = event("job_failed", job="abc", error='he said "no"', count=3, ratio=0.5, done=True, kept={"a": 1}, x="a=b")
    assert KeyValueFormatter().format(record(**given)) == (
        "time=1970-01-01T00:00:00.250Z level=warning logger=jobs_app.worker event=job_failed job=abc "
        'message="it is so" error="he said \\"no\\"" count=3 ratio=0.5 done=true kept="{\\"a\\": 1}" x="a=b"'
    )


@pytest.mark.parametrize("formatter", [JsonFormatter(), KeyValueFormatter()])
@pytest.mark.parametrize("text", ["two\nlines", "\r\x00\x1b[2J", "a\u2028b\x85c", "\ud800", "x" * 100_000])
def test_a_line_is_one_line_whatever_is_in_it(formatter: logging.Formatter, text: str) -> None:
    line = formatter.format(record(text, **{"given": text, f"key {text[:5]}": text}, exc_info=raised()))
    assert len(line.splitlines()) == 1
    assert line.isascii()
    assert line.isprintable()


@pytest.mark.parametrize(
    "value", [Unshowable(), object(), {1, 2}, {"deep": [object()]}, {(1, 2): 3}, float("nan"), b"raw", lambda: None]
)
@pytest.mark.parametrize("read", [JsonFormatter, KeyValueFormatter])
def test_what_json_has_no_form_for_is_told_as_text(value: Any, read: Callable[[], logging.Formatter]) -> None:
    line = read().format(record(given=value))
    assert "given" in line
    assert "it is so" in line


def test_an_error_that_cannot_be_shown_as_text_costs_whoever_tells_it_nothing() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert event("loop_failed", error=Silent())["error"] == "<Silent that cannot be shown as text>"
    assert event("loop_failed", error=ValueError("no"))["error"] == "no"


def test_a_value_that_contains_itself_costs_no_line() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert json.loads(JsonFormatter().format(record(given=endless)))["given"] == "[[...]]"


def test_an_exception_is_text_in_the_line() -> None:
    told = json.loads(JsonFormatter().format(record(exc_info=raised())))
    assert told["exception"].startswith("Traceback (most recent call last):\n")
    assert told["exception"].endswith("ValueError: no\nway")


def test_what_a_line_says_itself_is_not_overwritten() -> None:
    told = json.loads(JsonFormatter().format(record(time="x", level="x", logger="x", exception="x")))
    assert (told["time"], told["level"], told["logger"]) == ("1970-01-01T00:00:00.250Z", "warning", "jobs_app.worker")


@pytest.mark.parametrize("name", ["JsonFormatter", "KeyValueFormatter", "OneLineFormatter"])
def test_a_host_can_name_the_formatters_in_its_own_logging(name: str) -> None:
    handlers: list[Listed] = []

    def handler() -> Listed:
        handlers.append(Listed())
        return handlers[0]

    dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "filters": {"jobs": {"()": "jobs_app.logs.JobFilter"}},
            "formatters": {"line": {"class": f"jobs_app.logs.{name}", "format": logs.FORMAT}},
            "handlers": {"list": {"()": handler, "filters": ["jobs"], "formatter": "line"}},
            "loggers": {"tests.formats": {"handlers": ["list"], "propagate": False}},
        }
    )
    logging.getLogger("tests.formats").warning("here", extra=event("job_failed", job="abc"))
    assert len(handlers[0].lines) == 1
    assert "here" in handlers[0].lines[0]


def test_a_traceback_cannot_forge_a_line() -> None:
    try:
        raise ValueError("bad\n[2026-01-01 00:00:00] INFO all is well\x1b[2J")
    except ValueError as error:
        record = logging.LogRecord("jobs_app", logging.ERROR, "", 0, "failed", (), (ValueError, error, None))
    record.where = ""
    first, *others = OneLineFormatter(FORMAT).format(record).splitlines()
    assert first.endswith("ERROR failed")
    assert all(line.startswith("    ") for line in others)
    assert "\x1b" not in "".join(others)
