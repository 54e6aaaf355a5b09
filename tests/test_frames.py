"""A traceback begins where the handler does."""

from __future__ import annotations

import traceback
from types import TracebackType

from jobs_app.frames import of_handler
from jobs_app.values import period


def raised_by(act: object) -> TracebackType | None:
    called: dict[str, object] = {"__name__": "jobs_app.worker.somewhere", "act": act}
    try:
        exec("act()", called)  # as the worker calls a handler
    except Exception as error:
        return error.__traceback__ and error.__traceback__.tb_next
    return None


def functions(found: TracebackType | None) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(found)]


def handler() -> None:
    period(0)


def test_what_called_the_handler_is_left_out_and_what_it_called_is_not() -> None:
    assert functions(raised_by(handler)) == ["<module>", "handler", "period"]
    assert functions(of_handler(raised_by(handler))) == ["handler", "period"]


def test_where_no_handler_was_called_everything_is_told() -> None:
    found = raised_by(lambda: None)
    assert of_handler(found) is None
    found = raised_by(period)  # without its argument
    assert of_handler(found) is found
