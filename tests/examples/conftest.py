"""The demo site's processes on the test's own database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs_app.registry import registry
from jobs_app.sources import sources
from tests.examples.site import Site


@pytest.fixture(autouse=True)
def known_here(examples: None, request: pytest.FixtureRequest) -> None:
    """The job types and sources of the folder's example are known in this process too; those of the others are not, so
    that a tick or `run_jobs` is about it alone."""
    own = f"examples.{request.path.parent.name}."
    for job_type in list(registry):
        if not job_type.function.__module__.startswith((own, "jobs_app.")):
            registry.unregister(job_type.name)
    for source in list(sources):
        if not source.name.startswith(own):
            sources.remove(source.name)


@pytest.fixture
def make_site(child_environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """A site with these examples, at so many seconds a minute, and with these variables in the environment."""
    sites: list[Site] = []

    def make(*names: str, minute: float = 60, **variables: str) -> Site:
        folder = tmp_path / f"site-{len(sites)}"
        folder.mkdir()
        given = {"EXAMPLES": ",".join(names), "EXAMPLES_MINUTE_SECONDS": str(minute)}
        sites.append(Site({**child_environment, **given, **variables}, folder))
        return sites[-1]

    yield make
    for site in sites:
        site.stop()
