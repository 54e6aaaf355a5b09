"""Many values become the few that are told."""

from __future__ import annotations

import pytest

from benchmarks.figures import JOBS_PER_SECOND, MILLISECONDS, ROWS, percentile, ratio, spread, told


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(0, 1), (50, 50), (95, 95), (99, 99), (100, 100)],
)
def test_a_percentile_is_a_value_that_was_measured(percent: float, expected: float) -> None:
    assert percentile(range(100, 0, -1), percent) == expected


def test_a_percentile_of_few_values_is_one_of_them() -> None:
    assert percentile([7], 99) == 7
    assert percentile([1, 2, 3], 50) == 2
    assert percentile([1, 2, 3], 99) == 3


def test_the_median_is_what_counts_and_the_ends_are_kept() -> None:
    told_spread = spread([10, 30, 20, 1000])
    assert (told_spread.median, told_spread.least, told_spread.most, told_spread.repeats) == (25, 10, 1000, 4)


def test_a_ratio_to_nothing_is_none() -> None:
    assert ratio(5, 10) == 0.5
    assert ratio(5, 0) is None


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (12345.6, JOBS_PER_SECOND, "12,346"),
        (0.66, JOBS_PER_SECOND, "0.7"),
        (2.345, MILLISECONDS, "2.35"),
        (489.04, MILLISECONDS, "489.0"),
        (0, ROWS, "0"),
    ],
)
def test_a_value_is_told_with_the_digits_it_is_worth(value: float, unit: str, expected: str) -> None:
    assert told(value, unit) == expected
