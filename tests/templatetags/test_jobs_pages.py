"""What pages are written with: each piece as a reader sees it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone, translation

from jobs_app.templatetags import jobs_pages


def test_a_state_is_a_word_and_a_sign_and_a_colour() -> None:
    drawn = jobs_pages.badge("failed")
    assert "failed" in drawn
    assert "✗" in drawn
    assert "jobs-badge-bad" in drawn


def test_a_label_takes_the_place_of_the_word_and_is_escaped() -> None:
    drawn = jobs_pages.badge("succeeded", "<b>COMPLETED</b>")
    assert "&lt;b&gt;COMPLETED&lt;/b&gt;" in drawn
    assert "jobs-badge-ok" in drawn


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "now"), (90, "1m 30s ago"), (-90, "in 1m 30s"), (86400 * 3, "3d ago")]
)
def test_a_moment_is_told_as_the_way_to_it(seconds: int, told: str) -> None:
    drawn = jobs_pages.when(timezone.now() - timedelta(seconds=seconds))
    assert f">{told}</time>" in drawn


def test_a_moment_has_its_exact_time_in_the_zone_of_the_reader() -> None:
    moment = timezone.now().replace(year=2026, month=7, day=1, hour=10, minute=0, second=5)
    with timezone.override("Europe/Berlin"):
        assert "12:00:05 CEST" in jobs_pages.when(moment)


def test_what_is_not_known_is_a_dash() -> None:
    assert jobs_pages.when(None) == jobs_pages.exact(None) == jobs_pages.rough(None) == jobs_pages.counted(None) == "-"


@pytest.mark.parametrize(
    ("number", "is_capped", "language", "told"),
    [(0, False, "en", "0"), (10_000, True, "en", "10,000+"), (10_000, False, "de", "10.000")],
)
def test_numbers_are_grouped_as_the_language_does(number: int, is_capped: bool, language: str, told: str) -> None:
    with translation.override(language):
        assert jobs_pages.counted(number, is_capped) == told


def test_json_keeps_large_numbers_and_letters_of_all_languages() -> None:
    assert jobs_pages.pretty({"n": 2**70, "name": "Ž"}) == '{\n  "n": 1180591620717411303424,\n  "name": "Ž"\n}'
