"""What happened in a site, told once for all tests that ask: environments and sites cost seconds, questions nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection

from tests.dropin import databases
from tests.dropin.environments import LEFT_OUT, Environment, interpreter_for, make_environment
from tests.dropin.sites import Site, elaborate_site, plain_site
from tests.wheel import built_wheel, one_at_a_time, shared_folder

ALIASES = {"plain": ("default",), "elaborate": ("default", "jobs")}


@dataclass(frozen=True)
class Story:
    site: Site
    installed: Mapping[str, Any]
    worked: str  # what the worker printed
    looked: Mapping[str, Any]
    undone: Mapping[str, Any]
    after: Mapping[str, Any]


@pytest.fixture(scope="module")
def environment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Of the Django that the module names."""
    django = request.module.DJANGO
    python = interpreter_for(django)
    if python is None:
        pytest.skip(f"{LEFT_OUT} was run on Django {django}: no Python that it runs on is on PATH or in pyenv.")
    folder = shared_folder(tmp_path_factory) / f"django-{django}"
    with one_at_a_time(folder):
        if (folder / "made").exists():
            return Environment(folder / "env", django)
        made = make_environment(folder / "env", python, django, built_wheel(tmp_path_factory))
        (folder / "made").touch()
        return made


@pytest.fixture(scope="module", params=ALIASES)
def story(
    request: pytest.FixtureRequest,
    environment: Environment,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_setup: None,
    django_db_blocker: Any,
) -> Iterator[Story]:
    kind, folder = request.param, tmp_path_factory.mktemp("site") / "shop"
    with django_db_blocker.unblock(), _databases(kind, folder) as given:
        make = elaborate_site if kind == "elaborate" else plain_site
        yield _live(make(folder, environment, given))


def _databases(kind: str, folder: Any) -> Any:
    """The plain site keeps the file that `startproject` gave it."""
    if connection.vendor == "postgresql":
        return databases.on_the_server(*ALIASES[kind])
    return nullcontext(databases.files(folder, *ALIASES[kind]) if kind == "elaborate" else {})


def _live(site: Site) -> Story:
    installed = site.probe("install")
    worked = site.manage("runworker", "--once")
    looked = site.probe("look", installed["triggered"]["out"].strip())
    undone = site.probe("undo")
    site.remove_the_line()
    return Story(site, installed, worked, looked, undone, site.probe("after"))


@pytest.fixture
def is_elaborate(story: Story) -> bool:
    return (story.site.folder / "house").exists()
