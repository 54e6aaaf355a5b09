"""Logging is set up where the host set up none, in the form that was asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.utils.log import RequireDebugTrue

from jobs_app import logs


@contextmanager
def bare() -> Iterator[logging.Logger]:
    """A process in which nobody configured anything."""
    root, ours = logging.getLogger(), logging.getLogger("jobs_app")
    kept, level = root.handlers[:], ours.level
    root.handlers.clear()
    try:
        yield root
    finally:
        root.handlers[:] = kept
        ours.setLevel(level)
        logs.configure(logging.INFO)


@pytest.mark.parametrize("form", list(logs.FORMATTERS))
def test_the_form_is_that_of_the_option(form: str) -> None:
    with bare() as root:
        logs.configure(logging.DEBUG, form)
        [handler] = root.handlers
        assert type(handler.formatter) is type(logs.FORMATTERS[form]())
        assert logs.style_in_force() == (logging.DEBUG, form)


def test_of_what_a_handler_logs_itself_warnings_and_above_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("shop.of_no_level")
    with bare():
        logs.configure(logging.INFO)
        logger.info("in passing")
        logger.warning("look here")
        logging.getLogger("jobs_app.worker").info("ours")
    printed = capsys.readouterr().err
    assert ("in passing" in printed, "look here" in printed, "ours" in printed) == (False, True, True)


def test_a_host_that_has_handlers_keeps_them_and_is_told_so() -> None:
    said: list[str] = []
    own = logging.Handler()
    own.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    with bare() as root:
        root.addHandler(own)
        logs.configure(logging.DEBUG)
        assert (root.handlers, said) == ([own], [])
        logs.configure(logging.DEBUG, "json")
        assert root.handlers == [own]
    assert said == ["LOGGING of the project decides how lines look: --log-format json changes nothing"]


def test_what_django_says_is_said_once() -> None:
    django = logging.getLogger("django")
    kept, its_own, of_project = django.handlers[:], logging.Handler(), logging.Handler()
    its_own.addFilter(RequireDebugTrue())
    of_project.set_name("console")
    django.handlers += [its_own, of_project]
    try:
        with bare():
            logs.configure(logging.INFO)
            assert its_own not in django.handlers
            assert of_project in django.handlers
    finally:
        django.handlers[:] = kept


def test_what_a_project_keeps_from_the_root_is_still_said() -> None:
    django = logging.getLogger("django")
    kept, its_own = django.handlers[:], logging.Handler()
    its_own.addFilter(RequireDebugTrue())
    django.handlers[:], django.propagate = [its_own], False
    try:
        with bare():
            logs.configure(logging.INFO)
            assert django.handlers == [its_own]
    finally:
        django.handlers[:], django.propagate = kept, True
