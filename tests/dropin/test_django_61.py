"""The wheel in fresh sites of Django 6.1."""

from __future__ import annotations

from tests.dropin.behaviour import *  # noqa: F403

DJANGO = "6.1"
