"""Lengths of time in words."""

from __future__ import annotations

import pytest

from jobs_app import durations


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0s"),
        (0.25, "0.25s"),
        (15, "15s"),
        (90, "1m 30s"),
        (900, "15m"),
        (3600, "1h"),
        (90_061.5, "1d 1h 1m 1.5s"),
        (0.1 + 0.2, "0.3s"),
    ],
)
def test_exact_leaves_nothing_out(seconds: float, words: str) -> None:
    assert durations.exact(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0ms"),
        (0, "0ms"),
        (0.0244, "24ms"),
        (0.9999, "1.0s"),
        (2.46, "2.5s"),
        (9.97, "10s"),
        (59.6, "1m"),
        (200, "3m 20s"),
        (7505, "2h 5m"),
        (3600, "1h"),
        (273_605, "3d 4h"),
    ],
)
def test_rough_says_as_much_as_a_person_takes_in(seconds: float, words: str) -> None:
    assert durations.rough(seconds) == words
