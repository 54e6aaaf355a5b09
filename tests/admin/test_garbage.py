"""Whatever an address or a form says, a page answers: what cannot be meant is told, never by an error of the server."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest
from django.http.response import HttpResponseBase
from django.test import Client

from jobs_app.admin.menu import PAGES
from jobs_app.insights.run_filter_values import READERS
from jobs_app.models import ControlEvent, Job, Pause, ScheduleState
from tests.admin.conftest import Visitor
from tests.admin.filling import filled_in
from tests.admin.samples import SAMPLES
from tests.admin.world import World, make_world, register_shop

pytestmark = pytest.mark.django_db

# Each is wrong in its own way: for a database, a clock, a number, an address, a page or a pattern.
GARBAGE = (
    "a\0b",
    "\x1b[2J\u202e",
    "y" * 60_000,
    "9" * 5000,
    "-1",
    "1e400",
    "nan",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59",
    "2026-02-30",
    "' OR 1=1 --",
    "<script>alert(1)</script>",
    "%s%(x)s{}[]",
    "payload.a'b\".0:%",
    "9.-9",
    "-99999999999999999.1",
)
PLACE = ("older", "newer")
SCHEDULES = ("job_type", "subject", "state", "origin", "trouble", "q")
PARAMETERS: dict[str, tuple[str, ...]] = {
    "run_changelist": (*READERS, *PLACE),
    "run_export": ("q", "since", "longer", "format"),
    "run_bulk_retry": ("q", "since", "longer", "state"),
    "run_detail": ("before", "after"),
    "schedulestate_changelist": (*SCHEDULES, "after", "before"),
    "schedulestate_bulk_pause": SCHEDULES,
    "schedulestate_bulk_backfill": SCHEDULES,
    "schedulestate_add": ("job_type", "subject"),
    "subject_changelist": ("q", "after"),
    "workerstate_changelist": ("status", "kind"),
    "dashboard_capacity": ("slots", "more", "minutes:charge-card", "f-subjects", "f-name-1", "f-rate-1", "f-slots-1"),
    "dashboard_reconcile": ("kind", "run"),
    "controlevent_changelist": ("actor", "target", "window", "since", "until", *PLACE),
    "controlevent_export": ("target", "since", "format"),
    "jobdefinition_trigger": ("again", "as"),
}
NAMES = (
    "a\0b",
    "\x1b",
    "a/b",
    "/a/",
    "..",
    "a?b=1",
    "a#b",
    "a%2Fb%",
    "\u202eü",
    "x" * 3000,
    "<b>",
    "a/pause",
    "\n",
    " ",
)
OF_A_NAME = sorted(
    name
    for name, page in PAGES.items()
    if page.route.startswith("<path:")  # and so for any text
)
FAR = ("9999-12-31T23:59", "0001-01-01T00:00")
MOMENTS = (
    ("dashboard_pause_all", {"until": "given"}, "until_at"),
    ("subject_pause", {"until": "given"}, "until_at"),
    ("jobdefinition_trigger", {"when": "at"}, "run_at"),
    ("schedulestate_add", {"kind": "at", "timezone": "Pacific/Auckland"}, "value"),
    ("schedulestate_edit", {"kind": "at", "timezone": "America/Chicago"}, "value"),
    ("run_bulk_retry", {}, "moment"),
    ("schedulestate_backfill", {}, "start"),
    ("schedulestate_backfill", {}, "end"),
    ("apitoken_add", {"expires": "given"}, "expires_at"),
)
CRONS = ("0 0 30 2 *", "0-999999999 * * * *", "1-59/0 * * * *", "@reboot", "* " * 90, "0 0 * * 8")


@pytest.fixture
def world() -> World:
    register_shop()
    return make_world()


@pytest.fixture
def operator(visitor: Visitor) -> Client:
    return visitor(everything=True)


def answered(response: HttpResponseBase) -> int:
    """The status of an answer that was read to its end."""
    if response.streaming:
        list(response.streaming_content)  # type: ignore[attr-defined]
    return response.status_code


def unanswered(client: Client, urls: Iterator[str]) -> list[str]:
    """Those that are no page, no refusal and no way on. An error of the server is raised."""
    return [url[:200] for url in urls if answered(client.get(url)) not in (200, 302, 400, 404)]


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_may_be_anything(name: str, world: World, operator: Client) -> None:
    address = SAMPLES[name].url(name, world).partition("?")[0]
    queries = (SAMPLES[name].query | {each: value} for each in PARAMETERS[name] for value in GARBAGE)
    before = ControlEvent.objects.count()
    assert unanswered(operator, (f"{address}?{urlencode(query)}" for query in queries)) == []
    assert ControlEvent.objects.count() == before


@pytest.mark.parametrize("page", OF_A_NAME)
def test_a_name_may_be_anything(page: str, world: World, operator: Client) -> None:
    stem = SAMPLES[page].url(page, world).partition("?")[0].split("/jobs_app/")[1].split("/")
    for name in NAMES:
        url = "/".join(["/admin/jobs_app", stem[0], quote(name, safe="/"), *stem[2:]])
        assert answered(operator.get(url)) in (200, 302, 404), url[:200]


def test_a_number_in_an_address_may_have_any_length(world: World, operator: Client) -> None:
    urls = (f"/admin/jobs_app/{part}/{'9' * length}/" for part in ("schedulestate", "run") for length in (19, 30, 5000))
    assert {operator.get(url).status_code for url in urls} == {404}
    assert operator.get(f"/admin/jobs_app/run/{world.failed}/log/{'9' * 30}/").status_code == 404


@pytest.mark.parametrize("page", sorted(name for name, page in PAGES.items() if page.act))
def test_a_reason_that_cannot_be_kept_changes_nothing(page: str, world: World, operator: Client) -> None:
    url = SAMPLES[page].url(page, world)
    form = filled_in(operator.get(url).text) | dict(SAMPLES[page].data)
    before = ControlEvent.objects.count()
    for reason in ("a\0b", "y" * 1_000_000):
        answer = operator.post(url, form | {"reason": reason})
        assert answer.status_code == 200
        assert "reason" in answer.context["form"].errors
    assert ControlEvent.objects.count() == before


@pytest.mark.parametrize(("page", "chosen", "field"), MOMENTS)
def test_a_moment_that_no_other_clock_could_tell_is_refused(
    page: str, chosen: dict[str, str], field: str, world: World, operator: Client
) -> None:
    url = SAMPLES[page].url(page, world)
    form = filled_in(operator.get(url).text) | dict(SAMPLES[page].data) | chosen
    before = (Job.objects.count(), Pause.objects.filter(actor="ops").count(), ScheduleState.objects.count())
    for moment in FAR:
        answer = operator.post(url, form | {field: moment})
        assert answer.status_code == 200
        assert answer.context["form"].errors
    assert (Job.objects.count(), Pause.objects.filter(actor="ops").count(), ScheduleState.objects.count()) == before


@pytest.mark.parametrize("cron", CRONS)
def test_a_cron_that_never_comes_or_never_ends_is_refused(cron: str, world: World, operator: Client) -> None:
    url = SAMPLES["schedulestate_edit"].url("schedulestate_edit", world)
    form = filled_in(operator.get(url).text) | {"kind": "cron", "value": cron, "timezone": "Europe/Berlin"}
    for act in ({"preview": "1"}, {}):
        answer = operator.post(url, form | act)
        assert answer.status_code == 200
        assert "value" in answer.context["form"].errors


@pytest.mark.parametrize(
    "wanted", ["http://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "http://[", "\0"]
)
def test_nobody_is_sent_to_another_site(wanted: str, world: World, operator: Client) -> None:
    url = SAMPLES["run_cancel"].url("run_cancel", world)
    assert "evil" not in operator.get(f"{url}?{urlencode({'next': wanted})}").text
    answer = operator.post(url, {"next": wanted})
    assert answer["Location"] == f"/admin/jobs_app/run/{world.queued}/"
