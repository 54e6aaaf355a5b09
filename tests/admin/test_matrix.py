"""Every page x every permission x GET and POST: what is declared is what opens it, and nothing else does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import Resolver404, resolve

from jobs_app.admin.menu import PAGES
from jobs_app.admin.pages import Page
from jobs_app.models import Dashboard, Pause, ScheduleState
from tests.admin.filling import filled_in
from tests.admin.samples import PLACES, SAMPLES
from tests.admin.world import World, make_world, register_shop
from tests.one_database import on_one_database

pytestmark = [pytest.mark.django_db, on_one_database]

ACTS = sorted(name for name, page in PAGES.items() if page.act)
VIEWS = sorted(name for name, page in PAGES.items() if not page.act)
LINK = re.compile(r'(?:href|action|formaction)="([^"]+)"')
VIEW = "view_dashboard"
MOVED = {"run_change"}  # an address that Django's own log links to; it leads on


class Person:
    """One who is logged in, and whose permissions change from request to request."""

    def __init__(self, **traits: Any) -> None:
        self.user = User.objects.create_user("matrix", **{"is_staff": True} | traits)
        self.client = Client()
        self.client.force_login(self.user)
        self._known = {one.codename: one for one in Permission.objects.filter(content_type__app_label="jobs_app")}

    @property
    def codenames(self) -> list[str]:
        """All that there are."""
        return sorted(self._known)

    @property
    def grants(self) -> list[set[str]]:
        """Each that a page asks for or a verb has, alone beside that of looking; all others at once."""
        single = {VIEW}.union(*map(needed, PAGES.values()), (name for name, _ in Dashboard._meta.permissions))
        return [*({VIEW, codename} for codename in sorted(single)), {VIEW, *self.codenames} - single | {VIEW}]

    def may(self, *codenames: str) -> Client:
        self.user.user_permissions.set([self._known[codename] for codename in set(codenames)])
        return self.client


@pytest.fixture
def world() -> World:
    register_shop()
    return make_world()


@pytest.fixture(autouse=True)
def unlogged(caplog: pytest.LogCaptureFixture) -> None:
    """A refusal is logged with its traceback, which takes longer than the refusal, two thousand times."""
    caplog.set_level("CRITICAL", "django.request")


@pytest.fixture
def person() -> Person:
    return Person()


def needed(page: Page) -> set[str]:
    return {permission.partition(".")[2] for permission in page.permissions}


def everything_stored() -> dict[str, list[Any]]:
    """All that the app keeps, and the log of the admin."""
    models = [model for model in apps.get_app_config("jobs_app").get_models() if model._meta.managed]
    return {model.__name__: sorted(map(str, model.objects.values_list())) for model in (*models, LogEntry)}


def body(response: HttpResponseBase) -> str:
    content = b"".join(response.streaming_content) if response.streaming else response.content  # type: ignore[attr-defined]
    return content.decode()


def pages_linked_from(text: str) -> Iterator[str]:
    """The app's pages that a page leads to."""
    for link in LINK.findall(text):
        try:
            name = resolve(urlsplit(unescape(link)).path).url_name or ""
        except Resolver404:
            continue
        if name.removeprefix("jobs_app_") in PAGES:
            yield name.removeprefix("jobs_app_")


def test_every_page_is_in_the_table() -> None:
    assert set(SAMPLES) == set(PAGES)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_exactly_the_declared_permissions_open_a_page(name: str, world: World, person: Person) -> None:
    """And it leads nobody to a page that is closed to them: no button, no link."""
    page, url, opens = PAGES[name], SAMPLES[name].url(name, world), SAMPLES[name].answers
    for granted in (needed(page), *person.grants):
        answer = person.may(*granted).get(url)
        assert answer.status_code == (opens if needed(page) <= granted else 403), f"with {sorted(granted)}"
        reached = pages_linked_from(body(answer))
        assert {other for other in reached if not needed(PAGES[other]) <= granted} == set(), f"with {sorted(granted)}"
    for codename in needed(page):
        everything_else = set(person.codenames) - {codename}
        assert person.may(*everything_else).get(url).status_code == 403, f"without {codename}"


@pytest.mark.parametrize("name", ACTS)
def test_who_may_acts_with_the_declared_permissions_alone(name: str, world: World, person: Person) -> None:
    sample, before = SAMPLES[name], everything_stored()
    url, client = sample.url(name, world), person.may(*needed(PAGES[name]))
    form = filled_in(body(client.get(url)))
    assert everything_stored() == before  # to look changes nothing
    answer = client.post(url, form | sample.data)
    assert answer.status_code == sample.done, _errors(body(answer))
    assert everything_stored() != before


def test_who_may_not_act_is_refused_and_changes_nothing(world: World, person: Person) -> None:
    before, let_in = everything_stored(), list[tuple[str, set[str]]]()
    for name in ACTS:
        page, sample = PAGES[name], SAMPLES[name]
        url, others = sample.url(name, world), set(person.codenames) - needed(page)
        grants = [others | needed(page) - {codename} for codename in needed(page)]
        grants += [granted for granted in person.grants if not needed(page) <= granted]
        answers = [person.may(*granted).post(url, sample.data).status_code for granted in grants]
        let_in += [(name, granted) for granted, status in zip(grants, answers, strict=True) if status != 403]
    assert let_in == []
    assert everything_stored() == before


def test_no_act_is_done_without_the_token_of_its_form(world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(Person(is_superuser=True).user)
    before = everything_stored()
    answers = {name: client.post(SAMPLES[name].url(name, world), SAMPLES[name].data).status_code for name in ACTS}
    assert answers == dict.fromkeys(ACTS, 403)
    assert everything_stored() == before


def test_a_page_that_shows_takes_no_post(world: World, person: Person) -> None:
    before, answers = everything_stored(), {}
    for name in VIEWS:
        url = SAMPLES[name].url(name, world)
        refused = person.may().post(url).status_code
        answers[name] = (person.may(*needed(PAGES[name])).post(url).status_code, refused)
    assert answers == dict.fromkeys(VIEWS, (405, 403))
    assert everything_stored() == before


@pytest.mark.parametrize("method", ["get", "post"])
def test_who_is_not_staff_is_sent_to_log_in(method: str, world: World) -> None:
    before, customer = everything_stored(), Person(is_staff=False)
    customer.may(*customer.codenames)
    let_in = []
    for name in PAGES:
        for client in (Client(), customer.client):
            answer = getattr(client, method)(SAMPLES[name].url(name, world))
            if answer.status_code != 302 or not answer.url.startswith("/admin/login/?next="):
                let_in.append(name)
    assert let_in == []
    assert everything_stored() == before


def test_every_page_is_reached_from_another(world: World) -> None:
    """What is not paused has no Resume, so that the same is looked at again without any pause."""
    client = Person(is_superuser=True).client
    reached: set[str] = set()
    for _ in range(2):
        for name, sample in (*SAMPLES.items(), *PLACES):
            found = pages_linked_from(body(client.get(sample.url(name, world))))
            reached |= {other for other in found if other != name}
        Pause.objects.all().delete()
        ScheduleState.objects.update(paused=False)
    assert set(PAGES) - reached == MOVED


def _errors(text: str) -> str:
    return "\n".join(re.findall(r'errorlist[^>]*>.*?</ul>|role="alert">[^<]*', text, re.DOTALL)) or text
