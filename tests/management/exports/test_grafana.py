"""The dashboard."""

from __future__ import annotations

import json
import re
from itertools import combinations
from typing import Any

import pytest

from jobs_app.conf import Settings
from jobs_app.management.exports.alerts import alerts
from jobs_app.management.exports.grafana import make
from jobs_app.management.exports.panels import COLUMNS
from tests.management.exports.promql import LABELS, assert_sound, grouped_by, selected

DASHBOARD = json.loads(make()[0].content)
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TARGETS = [target for panel in PANELS for target in panel["targets"]]


def squares(panel: dict[str, Any]) -> set[tuple[int, int]]:
    place = panel["gridPos"]
    return {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}


def test_it_can_be_imported_again_and_again() -> None:
    assert make() == make()
    kept = {name: DASHBOARD[name] for name in ("uid", "title", "version", "schemaVersion")}
    assert kept == {"uid": "jobs-app", "title": "Jobs", "version": 1, "schemaVersion": 39}


def test_the_variables_are_a_datasource_job_types_and_queues() -> None:
    listed = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
    assert set(listed) == {"datasource", "job_type", "queue"}
    for name in ("job_type", "queue"):
        metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", listed[name]["definition"]).groups()
        assert label == name
        assert label in LABELS[metric]


def test_each_panel_has_a_number_of_its_own_and_a_place_of_its_own() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for one, other in combinations(panels, 2):
        assert not squares(one) & squares(other), (one["title"], other["title"])
    assert all(0 <= x < COLUMNS for panel in panels for x, _ in squares(panel))


def test_rows_come_in_the_order_in_which_people_ask() -> None:
    rows = [panel for panel in DASHBOARD["panels"] if panel["type"] == "row"]
    assert [row["gridPos"]["y"] for row in rows] == sorted(row["gridPos"]["y"] for row in rows)
    assert rows[0]["title"] == "Is all well?"
    assert [panel["type"] for panel in DASHBOARD["panels"][1:9]] == ["stat"] * 8


def test_each_panel_asks_the_chosen_datasource() -> None:
    assert all(panel["targets"] for panel in PANELS)
    assert {target["datasource"]["uid"] for target in TARGETS} == {"${datasource}"}
    for panel in PANELS:
        names = [target["refId"] for target in panel["targets"]]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("expr", [target["expr"] for target in TARGETS])
def test_an_expression_reads_metrics_that_there_are(expr: str) -> None:
    assert_sound(expr)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target["expr"])
def test_a_legend_names_only_labels_that_are_left(target: dict[str, str]) -> None:
    kept, _ = next(grouped_by(target["expr"]), ({"instance"}, set()))
    assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= kept | {"le"}


def test_all_metrics_are_shown() -> None:
    assert {name for target in TARGETS for name, _ in selected(target["expr"])} == set(LABELS)


def test_the_alerts_that_panels_name_are_there() -> None:
    known = {alert.name for alert in alerts(Settings())}
    told = {name for panel in PANELS for name in re.findall(r"Jobs[A-Z]\w+", panel["description"])}
    assert told <= known
    assert len(told) > 10


@pytest.mark.spec("S0.R11")
def test_the_backlog_trend_is_the_rate_of_enqueues_minus_that_of_starts() -> None:
    (panel,) = [panel for panel in PANELS if panel["title"].startswith("Backlog trend")]
    (target,) = panel["targets"]
    enqueued, started = target["expr"].split(" - ")
    assert 'rate(jobs_enqueue_attempts_total{outcome="success"' in enqueued
    assert "rate(jobs_started_total{" in started
