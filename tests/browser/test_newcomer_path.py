"""The first hour of an operator, by clicks alone: trigger, watch, understand a failure, repeat, pause, plan, reconcile.

Each part is found in the control events at its end.
"""

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

SLOTS = ".jobs-slots tbody tr"


@pytest.fixture
def operator(working_site: Site, visit: Visit) -> Operator:
    return Operator(visit(working_site))


def test_a_job_is_triggered_by_a_form_and_its_progress_moves_by_itself(working_site: Site, operator: Operator) -> None:
    operator.enter("Job types")
    operator.follow("send-report")
    page = operator.follow("Trigger")
    operator.fill_in(customer="acme", month="November", copies="2")
    expect(page.locator("#jobs-preview")).to_contain_text('"customer": "acme"')  # while somebody types
    operator.confirm("they asked for it")

    progress = page.get_by_role("progressbar", name="Progress")
    for part in (1, 2):
        expect(progress).to_have_js_property("value", part)
        expect(page.locator(".jobs-progress")).to_contain_text(f"part {part} of 2 for acme")
        working_site.open_gate(f"acme-part-{part}")
    operator.expect_state("succeeded")
    expect(page.locator("#jobs")).to_contain_text("November sent to acme")
    operator.expect_event("trigger", "they asked for it")


def test_a_failure_says_why_and_is_run_again(working_site: Site, operator: Operator) -> None:
    operator.trigger("charge-card", order="4711", api_token="s3cr3t")
    page = operator.page
    operator.expect_state("failed")
    expect(page.locator("#run-head")).to_contain_text("the bank did not answer")
    expect(page.locator("#run-attempts")).to_contain_text("ConnectionError")
    page.get_by_text("Traceback").first.click()
    expect(page.locator("pre", has_text="in charge_card")).to_be_visible()
    expect(page.locator("#jobs")).to_contain_text("4711")
    assert "s3cr3t" not in page.content()

    operator.enter("Dashboard")
    failures = page.locator("#dashboard-failures")
    failures.get_by_role("row").filter(has_text="ConnectionError").get_by_role("link", name="1", exact=True).click()
    expect(operator.row("charge-card")).to_have_count(1)  # the number leads to what it counted
    operator.follow("charge-card")
    working_site.open_gate("bank")
    operator.follow("Run again")
    operator.confirm("the bank is back")

    operator.expect_state("succeeded")
    expect(page.locator("#run-head")).to_contain_text("Parent")
    operator.expect_event("retry", "the bank is back")


def test_a_paused_subject_says_why_its_runs_wait(operator: Operator) -> None:
    operator.trigger("sync-stock", branch="Bremen")
    page = operator.page
    operator.expect_state("succeeded")
    operator.follow("Bremen")
    operator.follow("Pause")
    operator.confirm("invoice dispute")
    expect(page.locator(".messagelist")).to_contain_text("Subject Bremen is paused")

    waiting = operator.trigger("sync-stock", branch="Bremen")
    expect(page.locator("#waiting-because")).to_contain_text("ada")
    expect(page.locator("#waiting-because")).to_contain_text("invoice dispute")
    page.locator("#waiting-because").get_by_role("link").first.click()
    operator.follow("Resume")
    operator.confirm("settled")

    page.goto(waiting)
    operator.expect_state("succeeded")
    operator.expect_event("pause", "invoice dispute")
    operator.expect_event("resume", "settled")


def test_a_cron_is_changed_with_a_preview_of_ten_slots(operator: Operator) -> None:
    operator.visitor.wait_until(lambda: ScheduleState.objects.filter(job_type="nightly-export").exists())
    operator.enter("Schedules")
    page = operator.follow("nightly-export")
    operator.follow("Change")
    expect(page.locator(SLOTS)).to_have_count(10)
    field = page.locator("[name=value]")
    field.fill("0 6 * *")
    expect(page.locator("#jobs-preview")).to_contain_text("When:")  # what is wrong with it
    field.fill("0 6 * * mon")
    expect(page.locator("#jobs-preview")).to_contain_text(re.compile("Monday", re.IGNORECASE))
    expect(page.locator(SLOTS)).to_have_count(10)
    assert ScheduleState.objects.get(job_type="nightly-export").cron == "30 2 * * *"  # nothing is changed by looking
    operator.confirm("only for the weekly meeting")

    expect(page.locator("#jobs")).to_contain_text(re.compile("Monday", re.IGNORECASE))
    assert ScheduleState.objects.get(job_type="nightly-export").cron == "0 6 * * mon"
    operator.expect_event("change", "only for the weekly meeting")


def test_the_run_of_a_killed_worker_is_found_and_reconciled(working_site: Site, operator: Operator) -> None:
    doomed = working_site.start_worker("--queues", "doomed")
    run = operator.trigger("crunch")
    page = operator.page
    operator.expect_state("running")
    working_site.kill(doomed)

    stale = operator.row("crunch").filter(has=page.get_by_role("checkbox"))
    operator.visitor.wait_until(lambda: operator.visitor.open("dashboard_stale") and stale.count())
    expect(stale).to_contain_text("waits again")
    stale.get_by_role("checkbox").check()
    page.get_by_role("button", name="Reconcile the chosen ones").click()
    expect(page.locator("#jobs-preview")).to_contain_text("1 run would be moved on")
    operator.confirm("its machine was lost")

    page.goto(run)
    expect(page.locator("#run-attempts")).to_contain_text("lost")
    working_site.open_gate("crunched")
    working_site.start_worker("--queues", "doomed")
    operator.expect_state("succeeded")
    operator.expect_event("reconcile", "its machine was lost")
