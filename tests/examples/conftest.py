"""The demo site's processes on the test's own database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.examples.site import Site


@pytest.fixture(autouse=True)
def known_here(examples: None) -> None:
    """The examples' job types and sources are known in this process too."""


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
