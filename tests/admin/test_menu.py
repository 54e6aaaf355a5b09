"""The app's pages stand in the admin without a line in the project's urls.py, and in a second site after one call."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from jobs_app.admin.menu import MENU, PAGES
from tests.admin.conftest import Visitor

pytestmark = pytest.mark.django_db

ENTRIES = [pages[0] for pages in MENU.values()]


def test_each_entry_of_the_menu_leads_to_its_page(visitor: Visitor) -> None:
    client = visitor(everything=True)
    index = client.get(reverse("admin:index")).text
    for page in ENTRIES:
        address = reverse(f"admin:jobs_app_{page.name}")
        assert address in index
        assert client.get(address).status_code == 200


def test_who_may_see_nothing_of_it_has_no_entry(visitor: Visitor) -> None:
    assert "jobs_app" not in visitor(sees=False).get(reverse("admin:index")).text


def test_a_viewer_sees_the_pages_and_no_way_to_change_anything(visitor: Visitor) -> None:
    client = visitor("view_controlevent")
    for page in ENTRIES:
        answer = client.get(reverse(f"admin:jobs_app_{page.name}")).text
        assert 'class="jobs-button" href' not in answer, page.name


def test_a_page_that_only_shows_refuses_to_be_posted_to(visitor: Visitor) -> None:
    client = visitor(everything=True)
    for page in ENTRIES:
        assert client.post(reverse(f"admin:jobs_app_{page.name}")).status_code == 405


@pytest.mark.urls("tests.admin.other_site")
@pytest.mark.parametrize("page", ENTRIES, ids=lambda page: page.name)
def test_a_second_site_has_the_pages_with_links_of_its_own(visitor: Visitor, page: object) -> None:
    address = reverse(f"admin:jobs_app_{page.name}", current_app="ops")  # type: ignore[attr-defined]
    assert address.startswith("/ops/")
    answer = visitor(everything=True).get(address)
    assert answer.status_code == 200
    assert re.findall(r'href="/admin/[^"]*"', answer.text) == []


def test_the_names_of_pages_are_unique() -> None:
    assert len(PAGES) == sum(len(pages) for pages in MENU.values())


def test_nothing_is_registered_twice(page_url: Callable[..., str]) -> None:
    assert {model for model in admin.site._registry if model._meta.app_label == "jobs_app"} == set(MENU)
    assert Client().get(page_url(ENTRIES[0].name)).status_code == 302


def test_a_page_behind_an_entry_shows_which_one_and_leads_back(visitor: Visitor, page_url: Callable[..., str]) -> None:
    listing = page_url("queuestate_changelist")
    page = visitor(everything=True).get(page_url("queuestate_pause", "mail")).text
    assert re.findall(r'href="([^"]+)"[^>]*aria-current="true"', page) == [listing]
    breadcrumbs = page.partition("breadcrumbs")[2].partition("jobs-nav")[0]
    assert f'href="{listing}"' in breadcrumbs
