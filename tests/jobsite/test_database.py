"""The database of the site, by its URL."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from jobsite.database import database_from_url, without_secrets


@pytest.mark.parametrize("url", ["", "nonsense", "mysql://me@host/shop"])
def test_what_is_no_url_of_a_database_that_works_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="postgresql://user:password@host/name"):
        database_from_url(url)


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
