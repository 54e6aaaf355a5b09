"""Job types of a module that worker processes import, known in the tests' own process only to the tests that ask."""

from __future__ import annotations

from types import ModuleType

from jobs_app.definitions import JobDefinition
from jobs_app.registry import JobType, registry


class SetAside:
    """Taken out of the registry when it is made: other tests have their own jobs."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._job_types: list[JobType] = [
            found.job_type for found in vars(module).values() if isinstance(found, JobDefinition)
        ]
        for job_type in self._job_types:
            registry.unregister(job_type.name)

    def register(self) -> ModuleType:
        """As in the worker processes, until the test ends."""
        for job_type in self._job_types:
            registry.register(job_type)
        return self._module
