"""The wheel in fresh sites of Django 5.2."""

from __future__ import annotations

from tests.dropin.behaviour import *  # noqa: F403

DJANGO = "5.2"
