"""Which job type an old task is now, and what its arguments are called there. Nothing is imported to find out."""

from __future__ import annotations

import difflib
import inspect
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol, runtime_checkable

from jobs_app.registry import SYSTEM_NAMES, JobType

Parameter = inspect.Parameter
ONLY_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL)


@runtime_checkable
class HoldsCalls(Protocol):
    """The schema of a task: its payload has room for arguments without a name."""

    def payload(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Mapping[str, Any]: ...


class JobTypes:
    """Those of code, by name and by the dotted path of their function, and what an operator says of old names."""

    def __init__(self, known: Iterable[JobType], mapped: Mapping[str, str]) -> None:
        self._names = {each.name: each for each in known if not each.name.startswith(SYSTEM_NAMES)}
        self._paths: dict[str, list[JobType]] = defaultdict(list)
        for each in self._names.values():
            self._paths[_path(each)].append(each)
        self._mapped = mapped

    def of(self, task: str) -> JobType:
        """ValueError tells what to do where there is none, or more than one."""
        if task in self._mapped:
            return self._named(self._mapped[task])
        if task in self._names:
            return self._names[task]
        same = self._paths.get(task, [])
        if len(same) == 1:
            return same[0]
        if same:
            names = ", ".join(sorted(each.name for each in same))
            raise ValueError(f"{task} is the function of several job types: {names}. Say which with --map {task}=NAME")
        raise ValueError(f"no job type has the name or the function {task}.{self._hint(task)}")

    def _named(self, name: str) -> JobType:
        if name in self._names:
            return self._names[name]
        near = difflib.get_close_matches(name, self._names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"--map names the job type {name!r}, which is not registered.{hint}")

    def _hint(self, task: str) -> str:
        """The function may have kept its name and have moved, or may have been renamed a little."""
        short = task.rpartition(".")[2]
        called = {path.rpartition(".")[2]: types[0].name for path, types in self._paths.items()}
        near = called.get(short) or next(iter(difflib.get_close_matches(task, [*self._names, *self._paths], n=1)), None)
        if near is None:
            return f" Define it with @job, or say --map {task}=NAME"
        name = near if near in self._names else self._paths[near][0].name
        return f" Did you mean {name!r}? Then say --map {task}={name}"


def payload_of(job_type: JobType, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name: those that were given by place have the names of the handler's parameters, in order. A
    task may have parameters that no name reaches: its call stays as it is."""
    schema, parameters = job_type.schema, list(inspect.signature(job_type.function).parameters.values())
    if isinstance(schema, HoldsCalls) and any(each.kind in ONLY_BY_PLACE for each in parameters):
        return dict(schema.payload(args, kwargs))
    names = _names_by_place(job_type, parameters)
    if len(args) > len(names):
        takes = f"takes {len(names)} ({', '.join(names)})" if names else "takes none"
        raise ValueError(f"it has {len(args)} positional arguments, and {job_type.name} {takes}")
    placed = dict(zip(names, args, strict=False))
    if twice := sorted(placed.keys() & kwargs.keys()):
        raise ValueError(f"it gives {', '.join(twice)} twice: by place and by name")
    return placed | dict(kwargs)


def _names_by_place(job_type: JobType, parameters: Sequence[Parameter]) -> list[str]:
    """As the payload has them: a field of a schema may have another name there."""
    in_payload = {field.name: field.alias or field.name for field in job_type.schema.fields}
    wanted = parameters[1:] if _takes_context(job_type, parameters, in_payload) else parameters
    placed = takewhile(lambda each: each.kind is Parameter.POSITIONAL_OR_KEYWORD and each.name in in_payload, wanted)
    return [in_payload[each.name] for each in placed]


def _takes_context(job_type: JobType, parameters: Sequence[Parameter], in_payload: Container[str]) -> bool:
    """Only of a task it is not said here, but there it is the one parameter that is not of the payload."""
    if isinstance(job_type.schema, HoldsCalls):
        return bool(parameters) and parameters[0].name not in in_payload
    return job_type.takes_context


def _path(job_type: JobType) -> str:
    function = job_type.function
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
