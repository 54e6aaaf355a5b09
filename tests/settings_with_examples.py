"""The tests' project with the examples: their tables are in the database of the whole suite, and their job types and
sources are there for the tests that ask for `examples`. Other processes have them through `jobsite.settings`."""

from __future__ import annotations

import examples
from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, *(f"examples.{name}" for name in examples.ALL)]
