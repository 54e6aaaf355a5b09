"""The examples of the pages run: each section by itself, from its first line to its last."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.db import connection

from jobs_app import get_run, job
from jobs_app.conf import parse
from jobs_app.lifecycle import control
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import ControlEvent, Job
from jobs_app.scheduler.sync import sync_declared
from jobs_app.testing import run_job, run_jobs
from tests.lifecycle.rows import done, one_running, stored
from tests.management.calling import jobs

pytestmark = pytest.mark.django_db

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = ("policies", "control", "windows", "isolation", "testing", "scheduling", "cron", "capacity", "settings")
PAGES += ("webhooks", "notifications", "logging", "signals", "importing", "installation", "checks")
BLOCK = re.compile(r"^```python\n(?!# \S+\.py\n)(.*?)^```", flags=re.DOTALL | re.MULTILINE)  # files run elsewhere
CONSOLE = re.DOTALL | re.MULTILINE


class Section(NamedTuple):
    page: str
    title: str
    code: str

    def __str__(self) -> str:
        return f"{self.page}: {self.title}"

    def run(self, **given: Any) -> dict[str, Any]:
        names = {"__name__": "shop.jobs", "fetch": lambda row, timeout: None, **given}
        exec(self.code, names)
        return names


def sections(page: str) -> list[Section]:
    parts = re.split(r"^#+ (?=[A-Z])", (DOCS / f"{page}.md").read_text(), flags=re.MULTILINE)
    found = [Section(page, part.partition("\n")[0], "\n".join(BLOCK.findall(part))) for part in parts]
    return [section for section in found if section.code]


SECTIONS = {str(section): section for page in PAGES for section in sections(page)}


@pytest.fixture
def shop(chores: Any) -> dict[str, Any]:
    """The job types and the schedule that the examples name, and a run for each state that they act on."""

    @job(name="fetch_rates", every="1h")
    def fetch_rates() -> None: ...

    SECTIONS["control: Stopping a run"].run()
    sync_declared(connection)
    columns = {"job_type": "import_rows", "payload": '{"rows": [1]}'}
    announce(connection, Presence(id="worker-1"))
    running = get_run(one_running(**columns).id)
    failed, lost = (one_running(**columns) for _ in range(2))
    done(failed, "failed")
    Job.objects.filter(pk=lost.id).update(worker_id="worker-that-is-gone")
    waiting, later = stored(1, **columns)[0], stored(1, delay=3600, **columns)[0]
    rest = {"ended": failed.id, "lost": lost.id, "waiting": waiting, "later": later}
    return {"running": running} | {name: get_run(run_id) for name, run_id in rest.items()}


@pytest.mark.parametrize("name", SECTIONS)
def test_every_example_runs(name: str, shop: dict[str, Any]) -> None:
    names = SECTIONS[name].run(**shop)
    parse(names.get("JOBS", {}))


def test_no_example_is_left_out() -> None:
    written = sum((DOCS / f"{page}.md").read_text().count("\n```python\n") for page in PAGES)
    files = len(re.findall(r"\n```python\n# \S+\.py\n", (DOCS / "testing.md").read_text()))
    assert sum(len(BLOCK.findall((DOCS / f"{page}.md").read_text())) for page in PAGES) == written - files
    assert {section.page for section in SECTIONS.values()} == set(PAGES)


def test_a_command_that_is_shown_prints_what_is_shown() -> None:
    shown = re.findall(
        r"^```console\n\$ python manage\.py jobs (.*?)\n(.*?)^```", (DOCS / "cron.md").read_text(), CONSOLE
    )
    assert shown
    for command, printed in shown:
        assert jobs(*shlex.split(command))[0] == printed


def test_every_act_of_operators_is_shown_and_does_something(shop: dict[str, Any]) -> None:
    shown = "".join(section.code for section in sections("control"))
    unshown = {name for name in control.__all__ if f"control.{name}(" not in shown}
    assert unshown == {"Acted", "Backfilled", "Bulked", "Created", "Reconciled", "bulk_part"}
    for name in ("control: On runs", "control: On what is still to come", "control: On schedules"):
        SECTIONS[name].run(**shop)
    assert not ControlEvent.objects.exclude(moved=1).exists()


def test_the_limits_of_the_example_are_lifted_one_by_one(shop: dict[str, Any]) -> None:
    SECTIONS["control: On what is still to come"].run(**shop)
    told = ControlEvent.objects.filter(target="mail", target_kind="queue").order_by("pk")
    limits = [event.detail["limits"] for event in told if event.action == "limit"]
    assert limits == [
        {"max_running": 5, "rate_count": 100, "rate_seconds": 60.0},
        {"rate_count": None, "rate_seconds": None},
    ]


def test_the_handlers_shown_can_be_run(shop: dict[str, Any]) -> None:
    stopping = SECTIONS["control: Stopping a run"].run()
    assert {stopping[run].refresh().status for run in ("run", "other")} == {"cancelled"}
    assert run_job(stopping["import_rows"], {"rows": [1, 2]}) is None
    isolated = SECTIONS["isolation: Handlers in processes of their own"].run()
    isolated["convert"].enqueue(path="a.pdf")
    assert len(run_jobs(job_types=isolated["convert"]).succeeded) == 1
