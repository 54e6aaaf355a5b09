"""Text that came from anywhere can be stored and printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.text import clean, clean_block, one_line, visible

any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=300)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.spec("S3.R6")
def test_control_characters_are_removed_and_line_ends_and_tabs_kept() -> None:
    assert clean("a\x00b\x1b[31m\r\n\tc\x7f\x9d") == "ab[31m\n\tc"


@pytest.mark.spec("S3.R6")
def test_a_long_text_is_cut_at_1000_characters_with_dots() -> None:
    cut = clean("x" * 5000)
    assert len(cut) == 1000
    assert cut == "x" * 997 + "..."


def test_a_text_of_exactly_the_limit_is_whole() -> None:
    assert clean("x" * 1000) == "x" * 1000


def test_lone_surrogates_are_replaced() -> None:
    assert clean("a\ud800b") == "a\N{REPLACEMENT CHARACTER}b"


def test_an_error_whose_text_fails_still_has_a_text() -> None:
    assert clean(Unprintable()) == "<Unprintable that cannot be shown as text>"


@given(any_text, st.integers(0, 50))
def test_cleaned_text_fits_any_database(text: str, limit: int) -> None:
    cleaned = clean(text, limit)
    assert len(cleaned) <= limit
    assert "\0" not in cleaned
    cleaned.encode()


def test_a_block_keeps_its_end_and_says_how_much_is_gone() -> None:
    block = clean_block("\n".join(f"line {number}" for number in range(100)), 60)
    first, *rest = block.splitlines()
    assert first == "[... 749 bytes cut]"  # of 789, so 40 are left beside this line
    assert rest[-1] == "line 99"
    assert len(block.encode()) <= 60


def test_a_short_block_is_whole() -> None:
    assert clean_block("Traceback\n\tcaf\xe9", 100) == "Traceback\n\tcaf\xe9"


@given(any_text, st.integers(0, 80))
def test_a_block_never_exceeds_its_bytes_nor_splits_a_character(text: str, limit: int) -> None:
    block = clean_block(text, limit)
    assert len(block.encode()) <= limit
    whole = clean_block(text, 10_000)
    assert whole.endswith(block.split("bytes cut]\n")[-1])


def test_one_line_cannot_forge_a_second_log_line() -> None:
    assert one_line("ok\n[Job 7] done\r\x1b\u2028\ud800") == r"ok\n[Job 7] done\r\x1b\u2028\ud800"


@given(any_text)
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


def test_what_a_page_cannot_show_or_is_shown_by_is_told_as_escapes() -> None:
    assert visible("a\x00b\u202egnp.exe\u2069 \ud800\n\té שלום") == "a\\x00b\\u202egnp.exe\\u2069 \\ud800\n\té שלום"


@given(any_text)
def test_every_text_that_a_page_shows_can_be_sent(text: str) -> None:
    visible(text).encode()
