"""From what `@job` was given to a job type with every default filled in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from jobs_app import schedule_options, values
from jobs_app.conf import settings_or_defaults
from jobs_app.errors import DefinitionInvalid, PayloadInvalid
from jobs_app.options import JOB_READERS, did_you_mean, read
from jobs_app.registry import SYSTEM_NAMES, SYSTEM_QUEUE, JobType, usual_backoff
from jobs_app.schedule_options import ScheduleOptions
from jobs_app.schemas import PayloadSchema, schema_for
from jobs_app.strict_json import dumps

FROM_PRESET = ("max_attempts", "backoff", "retry_unknown", "retry_timeouts", "timeout", "max_timeout", "lease")
SHORTHANDS = ("singleton", "exclusive")


def declare(function: Callable[..., Any], given: Mapping[str, Any], *, schema: PayloadSchema | None = None) -> JobType:
    """Check the options of one `@job` and build its job type: what was given, then the preset, then the settings. A
    task brings its schema, which is no option."""
    where = f"{'@job' if schema is None else '@task'} on {function.__qualname__}"
    chosen = read(given, JOB_READERS, DefinitionInvalid, where)
    schedule = _schedule(chosen, where)
    explicit = chosen.pop("schema", None)
    if schema is None:
        schema = schema_for(function, takes_context=chosen.get("takes_context", False), explicit=explicit)
    said = {**_defaults(function), **_from_preset(chosen), **_without_shorthands(chosen, where)}
    job_type = JobType(
        function=function,
        schema=schema,
        own_schedule=schedule,
        is_async=inspect.iscoroutinefunction(function),
        label=said.pop("label", None) or _label_from(said["name"]),
        own_attempts=said.pop("max_attempts", None),
        own_backoff=said.pop("backoff", None),
        **said,
    )
    _refuse_what_cannot_work(job_type, where)
    return job_type


def _schedule(chosen: dict[str, Any], where: str) -> ScheduleOptions:
    try:
        return schedule_options.take(chosen)
    except ValueError as problem:
        raise DefinitionInvalid(f"{where}: {problem}.") from None


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """But for attempts and backoff, which follow the settings for as long as the process lives."""
    usual_backoff(settings_or_defaults())  # better to hear now than at the first retry that it cannot be used
    return {"name": function.__name__, "queue": settings_or_defaults().default_queue, "priority": 0}


def _from_preset(chosen: Mapping[str, Any]) -> dict[str, Any]:
    preset = chosen.get("preset")
    if preset is None:
        return {}
    filled = {name: getattr(preset, name) for name in FROM_PRESET}
    if chosen.get("subject") or chosen.get("key"):
        # A policy counts jobs per key. Without one it would let a single job of the type through.
        filled["policy"] = preset.policy
    return filled


def _without_shorthands(chosen: Mapping[str, Any], where: str) -> dict[str, Any]:
    """`singleton="field"` is `policy="singleton", key="field"`; True leaves the key to the subject."""
    used = [name for name in SHORTHANDS if chosen.get(name)]
    plain = {name: value for name, value in chosen.items() if name not in SHORTHANDS}
    if not used:
        return plain
    if len(used) > 1 or "policy" in plain:
        raise DefinitionInvalid(f"{where}: a job has one policy. Give one of singleton=, exclusive= and policy=.")
    plain["policy"] = used[0]
    if chosen[used[0]] is not True:
        if plain.get("key"):
            raise DefinitionInvalid(f"{where}: {used[0]}= and key= both say the key. Give one of them.")
        plain["key"] = chosen[used[0]]
    return plain


def _label_from(name: str) -> str:
    words = re.sub(r"[-_.:]+", " ", name).strip()
    return words[:1].upper() + words[1:]


def _refuse_what_cannot_work(job_type: JobType, where: str) -> None:
    for option in ("name", "queue"):  # those that were not given come from the function and the settings
        _require_name(job_type, option, where)
    if job_type.queue == SYSTEM_QUEUE and not job_type.name.startswith(SYSTEM_NAMES):
        raise DefinitionInvalid(
            f"{where}: the queue {SYSTEM_QUEUE} is for the app's own chores, which nothing pauses or limits. Give "
            "another queue=."
        )
    if job_type.atomic and job_type.is_async:
        raise DefinitionInvalid(f"{where}: atomic=True needs a plain function: a transaction belongs to one thread.")
    if job_type.remote and (job_type.atomic or job_type.isolation != "thread"):
        raise DefinitionInvalid(f"{where}: remote=True runs elsewhere. Leave out atomic= and isolation=.")
    _require_sound_isolation(job_type, where)
    for option in ("subject", "key", "variant", "target"):
        _require_field(job_type, option, where)
    _require_sound_timeouts(job_type, where)
    try:
        dumps(dict(job_type.meta), limit=settings_or_defaults().max_payload_bytes, what="meta")
    except PayloadInvalid as problem:
        raise DefinitionInvalid(f"{where}: {problem}") from None
    if job_type.schedule.timetable is not None and job_type.subject is None:
        _require_fitting_payload(job_type, where)


def _require_sound_isolation(job_type: JobType, where: str) -> None:
    if job_type.isolation == "process" and job_type.atomic:
        raise DefinitionInvalid(
            f"{where}: atomic=True needs isolation='thread': the end of the job is stored by the worker, and what the "
            "handler writes in a process of its own cannot commit with it."
        )
    if job_type.isolation == "thread" and job_type.memory is not None:
        raise DefinitionInvalid(
            f"{where}: memory= needs isolation='process': threads share the memory of their worker."
        )


def _require_sound_timeouts(job_type: JobType, where: str) -> None:
    if bool(job_type.timeouts) != (job_type.variant is not None):
        raise DefinitionInvalid(f"{where}: timeouts= lists a time for values that variant= gives. Give both of them.")
    usual, most = job_type.timeout, job_type.max_timeout
    if most is not None and isinstance(usual, int | float) and usual > most:
        raise DefinitionInvalid(
            f"{where}: timeout= is {usual:g} s, and max_timeout= allows {most:g} s. Raise max_timeout=, or list the "
            "time in timeouts=, where no maximum applies."
        )


def _require_fitting_payload(job_type: JobType, where: str) -> None:
    """Better to hear now than at each slot that it does not fit. Where it names a subject, each has one of its own."""
    payload = job_type.schedule.payload
    try:
        job_type.schema.dump(payload or {})
    except PayloadInvalid as problem:
        why = str(problem).rstrip(".")
        given = "payload=" if payload else "its schedule enqueues it with an empty payload, which"
        raise DefinitionInvalid(f"{where}: {given} does not fit: {why}. Give payload=, or defaults.") from None


def _require_name(job_type: JobType, option: str, where: str) -> None:
    found = getattr(job_type, option)
    try:
        values.name(found)
    except ValueError as problem:
        raise DefinitionInvalid(f"{where}: the {option} {found!r} cannot be used: {problem}. Give {option}=.") from None


def _require_field(job_type: JobType, option: str, where: str) -> None:
    source = getattr(job_type, option)
    if not isinstance(source, str):
        return
    names = [field.name for field in job_type.schema.fields]
    if source not in names and not _takes_any_field(job_type.function):
        raise DefinitionInvalid(f"{where}: {option}={source!r} is no payload field.{did_you_mean(source, names)}")


def _takes_any_field(function: Callable[..., Any]) -> bool:
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(function).parameters.values())
