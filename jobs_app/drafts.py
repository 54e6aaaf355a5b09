"""From a payload to a job that can be stored: its subject, its key, its policy and every other column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from jobs_app.conf import Settings, get_settings, settings_or_defaults
from jobs_app.errors import OptionInvalid, PayloadInvalid
from jobs_app.ids import uuid7
from jobs_app.limits import NO_RULES
from jobs_app.options import key_text, subject_text
from jobs_app.payloads import checked, named
from jobs_app.registry import SYSTEM_QUEUE, JobType, gate_in
from jobs_app.strict_json import dumps

if TYPE_CHECKING:
    from jobs_app.lifecycle.new_job import NewJob

# A debounced job waits alone under its key, so that the next one finds it there.
DEBOUNCED = {"standard": "short", "short": "short", "singleton": "stately", "stately": "stately"}
NO_ID = UUID(int=0)  # of what is not a job yet


class Template(NamedTuple):
    """A job in parts, between which goes what its payload decides: half as long to put together as `_replace` takes."""

    make: type[NewJob]
    kind: tuple[Any, ...]
    times_and_policy: tuple[Any, ...]
    key: str | None
    rest: tuple[Any, ...]

    @classmethod
    def of(cls, job: NewJob) -> Template:
        return cls(type(job), job[1:5], job[7:11], job.key, job[12:])

    def job(self, run_id: UUID, payload: str, subject: str, key: str | None) -> NewJob:
        return self.make._make((run_id, *self.kind, payload, subject, *self.times_and_policy, key, *self.rest))


class Drafts:
    """What every job has in common that is enqueued of one type with the same options."""

    def __init__(self, job_type: JobType, options: Mapping[str, Any]) -> None:
        self._job_type = job_type
        self._attempts: int | None = options.get("max_attempts")
        self._subject = _fixed(job_type, options, "subject")
        self._key = _fixed(job_type, options, "key")
        self.debounce: float | None = options.get("debounce", job_type.debounce)
        self.throttle: float | None = options.get("throttle", job_type.throttle)
        self.on_conflict: str = "replace" if self.debounce else options.get("on_conflict", job_type.on_conflict)
        self._columns = _columns(job_type, options)
        if self.debounce:
            self._columns["delay"] = self.debounce
        self._made_for: Settings | None = None
        self._template: Template

    def draft(self, payload: Mapping[str, Any], subject: str | None = None) -> tuple[NewJob, dict[str, Any]]:
        """The job, checked and not stored, and its payload as it will be stored. A schedule gives its own subject."""
        settings = get_settings()
        if settings is not self._made_for:
            self._template, self._made_for = Template.of(self._common(settings)), settings
        template = self._template
        stored = checked(self._job_type, payload)
        text = dumps(stored, limit=settings.max_payload_bytes)
        subject, key = subject or self._subject, self._key
        if subject is None:
            subject = _from_payload(self._job_type, "subject", stored)
        if key is None:
            key = _from_payload(self._job_type, "key", stored)
        return template.job(uuid7(), text, subject, key or subject or template.key), stored

    def _common(self, settings: Settings) -> NewJob:
        """All but what the payload decides."""
        from jobs_app.lifecycle.new_job import NewJob

        queue = self._columns["queue"]
        rules = settings.queues.get(queue, NO_RULES)
        policy = self._policy(rules.policy)
        needs_key = policy != "standard" or self.throttle is not None
        return NewJob(
            id=NO_ID,
            payload="",
            policy=policy,
            max_attempts=self._job_type.max_attempts if self._attempts is None else self._attempts,
            key=self._job_type.name if needs_key else None,
            gate=gate_in(queue, policy, rules, self._job_type.limits),
            **self._columns,
        )

    def _policy(self, of_queue: str) -> str:
        """The type's own, else that of the queue."""
        policy = self._job_type.policy if self._job_type.policy != "standard" else of_queue
        if self.debounce is None:
            return policy
        if policy not in DEBOUNCED:
            raise OptionInvalid(
                f"job {self._job_type.name!r}: debounce= lets a newer job wait while one runs, which the policy "
                f"{policy} forbids. Use policy='stately'."
            )
        return DEBOUNCED[policy]


def _fixed(job_type: JobType, options: Mapping[str, Any], option: str) -> str | None:
    """The subject or the key that every job has; None where the payload decides."""
    given: str | None = options.get(option)
    return "" if given is None and getattr(job_type, option) is None else given


def _columns(job_type: JobType, options: Mapping[str, Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {"job_type": job_type.name, "meta": _meta_text(job_type, options)}
    for name in ("queue", "priority"):
        columns[name] = options.get(name, getattr(job_type, name))
    if columns["queue"] == SYSTEM_QUEUE != job_type.queue:
        raise OptionInvalid(f"job {job_type.name!r}: the queue {SYSTEM_QUEUE} is for the app's own chores alone.")
    for name in ("run_at", "delay", "expires_at", "actor", "parent"):
        if name in options:
            columns[name] = options[name]
    if "timeout" in options:
        columns["timeout_seconds"] = options["timeout"]
    return columns


def _meta_text(job_type: JobType, options: Mapping[str, Any]) -> str:
    try:
        merged = {**job_type.meta, **options.get("meta", {})}
        return dumps(merged, limit=settings_or_defaults().max_payload_bytes, what="meta")
    except PayloadInvalid as problem:
        raise OptionInvalid(f"job {job_type.name!r}: {problem}") from None


def _from_payload(job_type: JobType, option: str, stored: dict[str, Any]) -> str:
    """The subject or the key that the job type takes from a payload; empty where it finds none."""
    found = named(job_type, option, stored)
    if found is None or found == "":
        return ""
    try:
        return (key_text if option == "key" else subject_text)(str(found))
    except ValueError as problem:
        raise PayloadInvalid(f"job {job_type.name!r}: its {option} {str(found)!r} cannot be used: {problem}.") from None
