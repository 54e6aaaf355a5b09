"""What log lines say beside their sentence: the worker, the job, the name of what happened; and in which form."""

from __future__ import annotations

import logging
from typing import NamedTuple

from django.utils.log import RequireDebugTrue

from jobs_app.logs.formats import FORMAT, FORMATTERS, JsonFormatter, KeyValueFormatter, OneLineFormatter
from jobs_app.logs.records import JobFilter, about, event, name_worker

__all__ = [
    "FORMAT",
    "FORMATTERS",
    "JobFilter",
    "JsonFormatter",
    "KeyValueFormatter",
    "OneLineFormatter",
    "Style",
    "about",
    "configure",
    "event",
    "name_worker",
    "style_in_force",
]


class Style(NamedTuple):
    """How a process logs where the host configured nothing; handed on to the processes that it starts."""

    level: int = logging.INFO
    format: str = "text"  # a name in FORMATTERS


_style = Style()


def configure(level: int, format: str = "text") -> None:  # noqa: A002  # as the option of the commands is called
    """Log to standard error if the host project configured nothing of its own for us or for the root logger."""
    global _style
    _style = Style(level, format)
    logger = logging.getLogger("jobs_app")
    if logger.handlers or logging.getLogger().handlers:
        if format != Style().format:
            text = "LOGGING of the project decides how lines look: --log-format %s changes nothing"
            logger.warning(text, format, extra=event("log_format_ignored", format=format))
        return
    logger.setLevel(level)
    handler = logging.StreamHandler()
    handler.addFilter(JobFilter())
    handler.setFormatter(FORMATTERS[format]())
    logging.getLogger().addHandler(handler)
    _drop_second_voice()


def _drop_second_voice() -> None:
    """With DEBUG on, Django prints the lines of its own loggers too: each would be there twice, once in no format. A
    handler that the project gave them stays."""
    logger = logging.getLogger("django")
    if not logger.propagate:
        return
    for handler in [each for each in logger.handlers if any(isinstance(one, RequireDebugTrue) for one in each.filters)]:
        logger.removeHandler(handler)


def style_in_force() -> Style:
    """With the level that our loggers have by now: a host may have set another one."""
    return Style(logging.getLogger("jobs_app").getEffectiveLevel(), _style.format)
