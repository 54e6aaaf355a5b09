"""Bars that any page shows."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from benchmarks.chart import Bar, bars

SVG = "{http://www.w3.org/2000/svg}"


def widths(chart: str) -> list[float]:
    return [float(bar.get("width")) for bar in ElementTree.fromstring(chart).iter(f"{SVG}rect")]


def test_bars_are_as_long_as_their_values() -> None:
    long, short, none = widths(bars("rates", [Bar("a", 200, "200"), Bar("b", 50, "50"), Bar("c", 0, "0")]))
    assert short == pytest.approx(long / 4, abs=0.1)
    assert none == 0


def test_every_bar_has_its_label_and_its_value() -> None:
    chart = bars("rates", [Bar("one & <two>", 1, "1.0", is_ours=False)])
    texts = [text.text for text in ElementTree.fromstring(chart).iter(f"{SVG}text")]
    assert texts == ["rates", "one & <two>", "1.0"]


def test_ours_stand_out() -> None:
    chart = bars("rates", [Bar("ours", 1, "1"), Bar("other", 1, "1", is_ours=False)])
    kinds = [bar.get("class") for bar in ElementTree.fromstring(chart).iter(f"{SVG}rect")]
    assert kinds == ["bar ours", "bar"]


@pytest.mark.parametrize("rows", [[], [Bar("a", 0, "0")], [Bar("a", -3, "-3")]])
def test_a_chart_without_length_is_a_chart(rows: list[Bar]) -> None:
    assert all(width == 0 for width in widths(bars("rates", rows)))


def test_a_dark_page_has_colours_of_its_own() -> None:
    assert "prefers-color-scheme: dark" in bars("rates", [])
