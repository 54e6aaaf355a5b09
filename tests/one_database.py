"""The mark of tests about pages, permissions and commands, which are the same on every database: once is enough."""

from __future__ import annotations

import pytest
from django.db import connection

on_one_database = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="the same on every database: it is looked at on SQLite"
)
