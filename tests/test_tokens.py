"""The text of an API token."""

from __future__ import annotations

import hashlib
import re

import pytest

from jobs_app.tokens import hash_of, new_token, prefix_of

TEXT = "jobs_abcd1234_" + "s" * 43


def test_a_token_has_256_bits_and_a_prefix_to_find_it_by() -> None:
    new = new_token()
    assert re.fullmatch(r"jobs_[a-z0-9]{8}_[A-Za-z0-9]{43}", new.text)
    assert 62**43 > 2**256
    assert new.text.split("_")[1] == new.prefix == prefix_of(new.text)
    assert new.token_hash == hash_of(new.text) == hashlib.sha256(new.text.encode()).hexdigest()


def test_no_two_are_alike() -> None:
    made = [new_token() for _ in range(1000)]
    for name in ("text", "prefix", "token_hash"):
        assert len({getattr(each, name) for each in made}) == 1000


def test_a_log_that_shows_the_object_does_not_show_the_token() -> None:
    new = new_token()
    assert new.text not in repr(new)
    assert new.text.rpartition("_")[2] not in repr(new)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "jobs_",
        "jobs_abcd1234",
        "jobs_abcd1234_",
        TEXT[:-1],
        TEXT + "s",
        TEXT + "\n",
        " " + TEXT,
        TEXT.upper(),
        TEXT.replace("jobs", "jobz"),
        TEXT.replace("abcd1234", "ABCD1234"),
        TEXT.replace("abcd1234", "abcd12345"),
        TEXT[:-1] + "\0",
        TEXT[:-1] + "\ud800",
        TEXT[:-1] + "é",
        TEXT[:-1] + "_",
        TEXT[:-1] + "-",
        "jobs_" + "٣" * 8 + "_" + "s" * 43,
        "jobs_abcd1234_" + "s" * 1_000_000,
    ],
)
def test_what_is_no_token_has_no_prefix(text: str) -> None:
    assert prefix_of(text) is None


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "é"])
def test_any_text_has_a_hash(text: str) -> None:
    assert re.fullmatch("[0-9a-f]{64}", hash_of(text))
