"""Job types as tests name them: by the object that `@job` gave, or by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from jobs_app.definitions import JobDefinition
from jobs_app.registry import registry

AnyJob: TypeAlias = JobDefinition[..., Any] | str


def definition_of(job: AnyJob) -> JobDefinition[..., Any]:
    """A name that is not registered is an error here: an assertion about it would always or never hold."""
    if isinstance(job, JobDefinition):
        return job
    if isinstance(job, str):
        return JobDefinition(registry.get(job))
    raise TypeError(f"name a job by the object that @job gave or by its name, not by {job!r}.")


def names_of(jobs: AnyJob | Iterable[AnyJob] | None) -> set[str] | None:
    """None: all of them."""
    if jobs is None:
        return None
    if isinstance(jobs, JobDefinition | str):
        jobs = [jobs]
    return {definition_of(job).name for job in jobs}
