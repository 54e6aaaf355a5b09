"""The alerts."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import yaml
from django.core.management import load_command_class

from jobs_app.conf import Settings
from jobs_app.management.exports.alerts import make
from tests.management.exports.promql import assert_sound, grouped_by

SETTINGS = Settings()


def rules(settings: Settings = SETTINGS) -> dict[str, dict[str, Any]]:
    (group,) = yaml.safe_load(make(settings)[0].content)["groups"]
    assert group["name"] == "jobs_app"
    return {rule["alert"]: rule for rule in group["rules"]}


RULES = rules()


@pytest.mark.parametrize("name", RULES)
def test_an_alert_reads_metrics_that_there_are(name: str) -> None:
    assert_sound(RULES[name]["expr"])


@pytest.mark.parametrize("name", RULES)
def test_an_alert_says_what_is_wrong_and_what_to_do(name: str) -> None:
    rule = RULES[name]
    assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"Jobs[A-Z][A-Za-z]+", name)
    assert re.fullmatch(r"\d+[mh]", rule["for"])
    assert set(rule["labels"]) == {"severity"}
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert set(rule["annotations"]) == {"summary", "description", "runbook"}
    assert all(rule["annotations"].values())
    assert rule["annotations"]["runbook"].startswith("python manage.py jobs ")


@pytest.mark.parametrize("name", RULES)
def test_a_text_names_only_labels_that_the_alert_has(name: str) -> None:
    told = set(re.findall(r"\$labels\.(\w+)", " ".join(RULES[name]["annotations"].values())))
    kept, _ = next(grouped_by(RULES[name]["expr"]), (set(), set()))  # what is compared has those on its left
    assert told <= kept


def test_a_scheduler_with_nothing_to_do_ticks_once_in_a_poll_and_alarms_nobody() -> None:
    def patience(poll: float) -> str:
        expr = rules(replace(SETTINGS, scheduler_poll_seconds=poll))["JobsSchedulerStalled"]["expr"]
        return expr.rpartition(" > ")[2]

    assert (patience(300), patience(5)) == ("600", "60")


def test_what_an_operator_paused_is_not_slow() -> None:
    expr = RULES["JobsQueueSlow"]["expr"]
    assert "unless on (queue) max by (queue) (jobs_queue_paused) == 1" in expr
    assert 'unless on () max(jobs_pauses{scope="all"}) > 0' in expr


def test_the_commands_to_run_next_are_understood() -> None:
    parser = load_command_class("jobs_app", "jobs").create_parser("manage.py", "jobs")
    for alert in RULES.values():
        words = alert["annotations"]["runbook"].replace("{{ $labels.job_type }}", "mail").split()
        assert words[:3] == ["python", "manage.py", "jobs"]
        parser.parse_args(words[3:])
