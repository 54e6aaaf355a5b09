"""The database of the site, by its URL."""

from __future__ import annotations

import pytest

from jobsite.database import without_secrets


@pytest.mark.parametrize("url", ["postgresql://postgres:@/postgres?host=/run/local", "sqlite:///demo.sqlite3"])
def test_the_url_of_a_local_database_is_shown_to_be_copied(url: str) -> None:
    assert without_secrets(url) == f"'{url}'"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@db.example.org/shop",
        "postgresql://me@db.example.org/shop",
        "postgresql://me:secret@/shop?host=/run/local",
        "postgresql:///shop?host=/run/local&password=secret",
    ],
)
def test_the_url_of_a_database_of_ones_own_is_not_shown(url: str) -> None:
    assert without_secrets(url) == "... (yours)"
