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
from tests.admin.filling import filled_in
from tests.admin.samples import SAMPLES
from tests.admin.world import World, make_world, register_shop

pytestmark = pytest.mark.django_db

ACTS = sorted(name for name, page in PAGES.items() if page.act)
VIEWS = sorted(name for name, page in PAGES.items() if not page.act)
LINK = re.compile(r'(?:href|action|formaction)="([^"]+)"')
VIEW = "view_dashboard"


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

    def may(self, *codenames: str) -> Client:
        self.user.user_permissions.set([self._known[codename] for codename in set(codenames)])
        return self.client


@pytest.fixture
def world() -> World:
    register_shop()
    return make_world()


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


@pytest.mark.spec("S2.28")
@pytest.mark.parametrize("name", sorted(PAGES))
def test_exactly_the_declared_permissions_open_a_page(name: str, world: World, person: Person) -> None:
    """And it leads nobody to a page that is closed to them: no button, no link."""
    page, url, opens = PAGES[name], SAMPLES[name].url(name, world), SAMPLES[name].answers
    for granted in (needed(page), *({VIEW, codename} for codename in person.codenames)):
        answer = person.may(*granted).get(url)
        assert answer.status_code == (opens if needed(page) <= granted else 403), f"with {sorted(granted)}"
        reached = pages_linked_from(body(answer))
        assert {other for other in reached if not needed(PAGES[other]) <= granted} == set(), f"with {sorted(granted)}"
    for codename in needed(page):
        everything_else = set(person.codenames) - {codename}
        assert person.may(*everything_else).get(url).status_code == 403, f"without {codename}"


@pytest.mark.parametrize("name", ACTS)
def test_who_may_not_act_changes_nothing(name: str, world: World, person: Person) -> None:
    page, sample = PAGES[name], SAMPLES[name]
    url, before = sample.url(name, world), everything_stored()
    for codename in needed(page):
        client = person.may(*set(person.codenames) - {codename})
        assert client.post(url, sample.data).status_code == 403, f"without {codename}"
    for codename in set(person.codenames) - needed(page):
        assert person.may(VIEW, codename).post(url, sample.data).status_code == 403, f"with {codename} only"
    assert everything_stored() == before


@pytest.mark.parametrize("name", ACTS)
def test_who_may_acts_with_the_declared_permissions_alone(name: str, world: World, person: Person) -> None:
    sample, before = SAMPLES[name], everything_stored()
    url, client = sample.url(name, world), person.may(*needed(PAGES[name]))
    answer = client.post(url, filled_in(body(client.get(url))) | sample.data)
    assert answer.status_code == 302, _errors(body(answer))
    assert everything_stored() != before


@pytest.mark.parametrize("name", ACTS)
def test_to_look_at_an_act_changes_nothing(name: str, world: World, person: Person) -> None:
    before = everything_stored()
    assert person.may(*needed(PAGES[name])).get(SAMPLES[name].url(name, world)).status_code == 200
    assert everything_stored() == before


@pytest.mark.parametrize("name", ACTS)
def test_no_act_is_done_without_the_token_of_its_form(name: str, world: World) -> None:
    person, sample = Person(is_superuser=True), SAMPLES[name]
    client = Client(enforce_csrf_checks=True)
    client.force_login(person.user)
    before = everything_stored()
    assert client.post(sample.url(name, world), sample.data).status_code == 403
    assert everything_stored() == before


@pytest.mark.parametrize("name", VIEWS)
def test_a_page_that_shows_takes_no_post(name: str, world: World, person: Person) -> None:
    page, url, before = PAGES[name], SAMPLES[name].url(name, world), everything_stored()
    assert person.may(*needed(page)).post(url).status_code == 405
    assert person.may().post(url).status_code == 403
    assert everything_stored() == before


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("name", sorted(PAGES))
def test_who_is_not_staff_is_sent_to_log_in(name: str, method: str, world: World) -> None:
    url, before = SAMPLES[name].url(name, world), everything_stored()
    customer = Person(is_staff=False)
    customer.may(*customer.codenames)
    for client in (Client(), customer.client):
        answer = getattr(client, method)(url)
        assert answer.status_code == 302
        assert answer.url.startswith("/admin/login/?next=")
    assert everything_stored() == before


def test_every_act_is_reached_from_some_page(world: World) -> None:
    client = Person(is_superuser=True).client
    reached = {
        reached
        for name in PAGES
        for reached in pages_linked_from(body(client.get(SAMPLES[name].url(name, world))))
        if reached != name
    }
    assert set(PAGES) - reached == set()


def _errors(text: str) -> str:
    return "\n".join(re.findall(r'errorlist[^>]*>.*?</ul>|role="alert">[^<]*', text, re.DOTALL)) or text
