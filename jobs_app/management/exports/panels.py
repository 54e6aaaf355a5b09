"""Panels of a Grafana dashboard as Grafana stores them, and how they are laid out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

Panel = dict[str, Any]

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24  # of Grafana's grid
GREEN, ORANGE, RED = "green", "orange", "red"


class Query(NamedTuple):
    expr: str
    legend: str = ""


def number(title: str, expr: str, *, steps: Sequence[tuple[float, str]], unit: str = "short", told: str = "") -> Panel:
    """One number in the colour of the step that it has reached; the first step is where all begin."""
    colours = [{"color": colour, "value": value if place else None} for place, (value, colour) in enumerate(steps)]
    panel = _panel("stat", title, [Query(expr)], told=told, width=3, height=4)
    panel["fieldConfig"]["defaults"] = {"unit": unit, "thresholds": {"mode": "absolute", "steps": colours}}
    panel["options"] = {"colorMode": "background", "graphMode": "area", "reduceOptions": {"calcs": ["lastNotNull"]}}
    return panel


def lines(title: str, *queries: Query, unit: str = "short", stacked: bool = False, told: str = "") -> Panel:
    panel = _panel("timeseries", title, queries, told=told, width=8, height=8)
    drawn: dict[str, Any] = {"fillOpacity": 30 if stacked else 0, "stacking": {"mode": "normal" if stacked else "none"}}
    panel["fieldConfig"]["defaults"] = {"unit": unit, "custom": drawn}
    panel["options"] = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
    return panel


def heatmap(title: str, expr: str, *, unit: str) -> Panel:
    """Of a histogram's buckets."""
    panel = _panel("heatmap", title, [Query(expr, "{{le}}")], told="", width=8, height=8)
    panel["targets"][0]["format"] = "heatmap"
    panel["options"] = {"calculate": False, "yAxis": {"unit": unit}, "color": {"mode": "scheme", "scheme": "Spectral"}}
    return panel


def laid_out(rows: Iterable[tuple[str, Sequence[Panel]]]) -> list[Panel]:
    """Rows under each other, the panels of each from left to right, as many beside each other as fit."""
    found: list[Panel] = []
    top = 0
    for title, panels in rows:
        found.append({"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": _at(0, top)})
        top = _place(panels, top + 1)
        found += panels
    return [panel | {"id": place} for place, panel in enumerate(found, start=1)]


def _place(panels: Sequence[Panel], top: int) -> int:
    """Give each its place, and tell where the next row may begin."""
    left = height = 0
    for panel in panels:
        place = panel["gridPos"]
        if left + place["w"] > COLUMNS:
            left, top, height = 0, top + height, 0
        place |= {"x": left, "y": top}
        left, height = left + place["w"], max(height, place["h"])
    return top + height


def _at(left: int, top: int) -> dict[str, int]:
    return {"x": left, "y": top, "w": COLUMNS, "h": 1}


def _panel(kind: str, title: str, queries: Sequence[Query], *, told: str, width: int, height: int) -> Panel:
    targets = [
        {"refId": chr(ord("A") + place), "datasource": DATASOURCE, "expr": query.expr, "legendFormat": query.legend}
        for place, query in enumerate(queries)
    ]
    return {
        "type": kind,
        "title": title,
        "description": told,
        "datasource": DATASOURCE,
        "gridPos": {"w": width, "h": height},
        "fieldConfig": {"defaults": {}, "overrides": []},
        "targets": targets,
    }
