"""Which job type an old task is now, and what its arguments are called there. Nothing is imported to find out."""

from __future__ import annotations

import difflib
import inspect
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from jobs_app.registry import SYSTEM_NAMES, JobType

BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


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
    """The arguments by name: those that were given by place have the names of the handler's parameters, in order."""
    names = _names_by_place(job_type)
    if len(args) > len(names):
        takes = f"takes {len(names)} ({', '.join(names)})" if names else "takes none"
        raise ValueError(f"it has {len(args)} positional arguments, and {job_type.name} {takes}")
    placed = dict(zip(names, args, strict=False))
    if twice := sorted(placed.keys() & kwargs.keys()):
        raise ValueError(f"it gives {', '.join(twice)} twice: by place and by name")
    return placed | dict(kwargs)


def _names_by_place(job_type: JobType) -> list[str]:
    """As the payload has them: a field of a schema may have another name there."""
    parameters = list(inspect.signature(job_type.function).parameters.values())
    in_payload = {field.name: field.alias or field.name for field in job_type.schema.fields}
    takes_context = bool(parameters) and parameters[0].name not in in_payload  # first, and not of the payload
    wanted = parameters[1:] if takes_context else parameters
    placed = takewhile(lambda each: each.kind in BY_PLACE and each.name in in_payload, wanted)
    return [in_payload[each.name] for each in placed]


def _path(job_type: JobType) -> str:
    function = job_type.function
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
