"""Charts are SVG that any page may show: escaped, named, without styles or scripts of their own."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from jobs_app.admin.charts import bars, meter, sparkline, stacked

HOSTILE = '"><script>alert(1)</script>'


@pytest.mark.parametrize(
    "drawn",
    [
        sparkline([0, 3, 1], label=HOSTILE),
        sparkline([5], label="one"),
        sparkline([0, 0], label="nothing"),
        bars([(HOSTILE, 3), ("b", 0)], label="runs"),
        stacked([("a", [("ok", 3), ("bad", 1)])], label="ended"),
        meter(3, 4, label="slots"),
        meter(3, 0, label="no slots"),
    ],
)
def test_a_chart_is_well_formed_and_has_a_name(drawn: str) -> None:
    root = ElementTree.fromstring(drawn)
    assert root.get("role") == "img"
    assert root.get("aria-label")
    assert not re.search(r"<script|style=|[\"' ,](nan|inf)", drawn)


def test_a_sparkline_rises_with_its_values() -> None:
    [line] = re.findall(r'<polyline points="([^"]+)"', sparkline([0, 10], label="waiting"))
    first, last = (float(point.split(",")[1]) for point in line.split())
    assert first > last  # y grows downwards


def test_parts_of_a_bar_stand_on_each_other() -> None:
    drawn = stacked([("12:00", [("ok", 3), ("bad", 1)])], label="ended")
    found = re.findall(r'class="jobs-fill-(\w+)" x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"', drawn)
    (low, below, height), (high, above, rest) = ((kind, float(y), float(h)) for kind, y, h in found)
    assert (low, high) == ("ok", "bad")
    assert above + rest == pytest.approx(below, abs=0.02)
    assert height == pytest.approx(3 * rest, abs=0.02)
    assert "12:00: 3, 1" in drawn


@pytest.mark.parametrize(("used", "total", "kind"), [(1, 4, "ok"), (9, 10, "warn"), (11, 10, "bad"), (0, 0, "ok")])
def test_a_meter_warns_when_little_is_left(used: int, total: int, kind: str) -> None:
    assert f"jobs-fill-{kind}" in meter(used, total, label="used")


def test_nothing_to_draw_is_told_as_nothing() -> None:
    assert "<svg" not in sparkline([], label="waiting")
    assert "<svg" not in bars([], label="runs")
