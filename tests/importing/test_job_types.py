"""Which job type an old task is, and the names of its arguments."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any

import pytest

from jobs_app import job
from jobs_app.declarations import declare
from jobs_app.errors import DefinitionInvalid, PayloadInvalid
from jobs_app.importing.job_types import JobTypes, payload_of
from jobs_app.payloads import checked
from jobs_app.registry import JobType, registry
from jobs_app.tasks_backend.calls import CallSchema


def send_report(to: str, copies: int = 1, *, urgent: bool = False) -> None: ...


@pytest.fixture(autouse=True)
def known() -> JobType:
    return job(name="tests.reports")(send_report).job_type


def found(task: str, **mapped: str) -> str:
    return JobTypes(registry, mapped).of(task).name


def test_by_its_name() -> None:
    assert found("tests.reports") == "tests.reports"


def test_by_the_dotted_path_of_its_function() -> None:
    assert found(f"{__name__}.send_report") == "tests.reports"


def test_what_the_operator_says_comes_first() -> None:
    job(name="other")(lambda: None)
    assert JobTypes(registry, {"tests.reports": "other"}).of("tests.reports").name == "other"


def test_a_job_type_that_the_operator_names_wrong_has_the_nearest_beside_it() -> None:
    with pytest.raises(ValueError, match=r"'tests.report', which is not registered. Did you mean 'tests.reports'\?"):
        found("old", old="tests.report")


@pytest.mark.parametrize("task", ["shop.tasks.send_report", "test.reports"])
def test_a_near_name_is_told_with_what_to_say(task: str) -> None:
    with pytest.raises(ValueError, match=rf"Did you mean 'tests.reports'\? Then say --map {task}=tests.reports"):
        found(task)


def test_a_stored_name_is_never_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tabnanny", raising=False)
    with pytest.raises(ValueError, match=r"no job type has the name or the function tabnanny\.check"):
        found("tabnanny.check")
    assert "tabnanny" not in sys.modules


def test_a_function_of_two_job_types_needs_a_word() -> None:
    job(name="again")(send_report)
    with pytest.raises(ValueError, match=r"several job types: again, tests\.reports\. Say which with --map"):
        found(f"{__name__}.send_report")


def test_chores_of_the_app_are_no_job_types_to_plan(chores: Any) -> None:
    with pytest.raises(ValueError, match="no job type"):
        found("jobs.prune")


@pytest.mark.parametrize(
    ("args", "kwargs", "payload"),
    [
        ((), {"to": "a"}, {"to": "a"}),
        (("a",), {}, {"to": "a"}),
        (("a", 2), {"urgent": True}, {"to": "a", "copies": 2, "urgent": True}),
    ],
)
def test_arguments_by_place_get_the_names_of_the_parameters(
    known: JobType, args: tuple[Any, ...], kwargs: dict[str, Any], payload: dict[str, Any]
) -> None:
    assert payload_of(known, args, kwargs) == payload


def test_the_context_takes_no_argument() -> None:
    with_context = job(name="with-context", takes_context=True)(lambda context, number: None)
    assert payload_of(with_context.job_type, (7,), {}) == {"number": 7}


def test_more_arguments_than_places_are_refused(known: JobType) -> None:
    with pytest.raises(ValueError, match=r"3 positional arguments, and tests.reports takes 2 \(to, copies\)"):
        payload_of(known, ("a", 2, True), {})


def test_an_argument_that_is_given_twice_is_refused(known: JobType) -> None:
    with pytest.raises(ValueError, match="it gives to twice"):
        payload_of(known, ("a",), {"to": "b"})


def of_task(function: Any, *, takes_context: bool = False) -> JobType:
    """As a task of Django's is declared, whose payload holds arguments by place too."""
    handler = update_wrapper(lambda args, kwargs: None, function)
    return declare(handler, {"name": "a-task"}, schema=CallSchema(function, takes_context=takes_context))


def only_by_place(a: int = 0, /, b: int = 2) -> None: ...


def any_arguments(*args: Any, **kwargs: Any) -> None: ...


def with_its_name_again(a: int, /, **kwargs: Any) -> None: ...


def with_context(context: Any, a: int, *rest: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "payload"),
    [
        (only_by_place, (1,), {}, {"*args": [1]}),
        (only_by_place, (1,), {"b": 3}, {"*args": [1], "b": 3}),
        (only_by_place, (), {"b": 3}, {"b": 3}),
        (any_arguments, (1, "x"), {"c": 3}, {"*args": [1, "x"], "c": 3}),
        (with_its_name_again, (1,), {"a": 2}, {"*args": [1], "a": 2}),
        (send_report, ("a", 2), {"urgent": True}, {"to": "a", "copies": 2, "urgent": True}),
    ],
)
def test_a_task_that_takes_arguments_only_by_place_gets_them_so(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], payload: dict[str, Any]
) -> None:
    job_type = of_task(function)
    assert payload_of(job_type, args, kwargs) == payload
    assert checked(job_type, payload_of(job_type, args, kwargs)) == payload


def test_the_context_of_a_task_is_none_of_its_places() -> None:
    assert payload_of(of_task(with_context, takes_context=True), (1, 2), {}) == {"*args": [1, 2]}


@pytest.mark.parametrize(("args", "kwargs"), [((1, 2, 3), {}), ((), {"a": 1}), ((1, 2), {"b": 3})])
def test_a_call_that_a_task_cannot_take_is_refused(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    job_type = of_task(only_by_place)
    with pytest.raises(PayloadInvalid, match="it cannot be called with this"):
        checked(job_type, payload_of(job_type, args, kwargs))


def test_a_parameter_that_is_not_of_the_payload_gives_its_place_to_no_other() -> None:
    @dataclass
    class Numbers:
        number: int = 0

    only_number = job(name="only-number", schema=Numbers)(lambda dry=False, number=0: None)
    with pytest.raises(ValueError, match="1 positional arguments, and only-number takes none"):
        payload_of(only_number.job_type, (True,), {})


def test_a_job_has_no_parameters_that_only_a_place_can_name() -> None:
    with pytest.raises(DefinitionInvalid, match="by position, but a payload is keyword arguments"):
        job(name="by-place")(only_by_place)
