"""Every act works where no script runs: buttons lead to pages, previews are asked for, pages are read anew by hand."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from jobs_app.models import ScheduleState
from tests.browser.operator import Operator
from tests.browser.site import Site
from tests.browser.visitors import Visit
from tests.one_database import on_one_database

pytestmark = on_one_database


@pytest.fixture
def operator(working_site: Site, visit: Visit) -> Operator:
    return Operator(visit(working_site, java_script_enabled=False))


def reload_until(operator: Operator, state: str) -> None:
    """As a person without a script does."""
    shown = operator.page.locator("#run-head .jobs-run-state")
    operator.visitor.wait_until(lambda: operator.page.reload() and state in shown.inner_text())


def test_a_job_is_triggered_fails_and_is_run_again(working_site: Site, operator: Operator) -> None:
    operator.enter("Job types")
    operator.follow("charge-card")
    page = operator.follow("Trigger")
    operator.fill_in(order="4711")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#jobs-preview")).to_contain_text('"order": 4711')
    operator.confirm("to see it run")
    reload_until(operator, "failed")
    expect(page.locator("#run-head")).to_contain_text("the bank did not answer")

    working_site.open_gate("bank")
    operator.follow("Run again")
    operator.confirm("the bank is back")
    reload_until(operator, "succeeded")


def test_a_subject_is_paused_and_resumed(operator: Operator) -> None:
    operator.trigger("sync-stock", branch="Dover")
    page = operator.page
    operator.follow("Dover")
    operator.follow("Pause")
    operator.confirm("invoice dispute")
    waiting = operator.trigger("sync-stock", branch="Dover")
    expect(page.locator("#waiting-because")).to_contain_text("invoice dispute")
    page.locator("#waiting-because").get_by_role("link").first.click()
    operator.follow("Resume")
    operator.confirm("settled")
    expect(page.locator(".messagelist")).to_contain_text("Subject Dover is resumed")
    page.goto(waiting)
    reload_until(operator, "succeeded")
    operator.expect_event("resume", "settled")


def test_a_cron_is_changed_after_a_look_at_its_slots(operator: Operator) -> None:
    operator.visitor.wait_until(lambda: ScheduleState.objects.filter(job_type="nightly-export").exists())
    operator.enter("Schedules")
    page = operator.follow("nightly-export")
    operator.follow("Change")
    page.locator("[name=value]").fill("0 6 * * mon")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#jobs-preview")).to_contain_text(re.compile("Monday", re.IGNORECASE))
    expect(page.locator(".jobs-slots tbody tr")).to_have_count(10)
    operator.confirm("only for the weekly meeting")
    assert ScheduleState.objects.get(job_type="nightly-export").cron == "0 6 * * mon"
