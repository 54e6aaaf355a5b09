"""The test project with a mistake that a check finds."""

from __future__ import annotations

from tests.settings import *  # noqa: F403

USE_TZ = False
