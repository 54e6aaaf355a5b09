"""Who visits the admin, and where its pages are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

Visitor = Callable[..., Client]
numbers = count(1)


@pytest.fixture
def visitor(db: None) -> Visitor:
    """Someone logged in who may see the pages, and has the permissions named; with `everything` a superuser."""

    def make(*codenames: str, everything: bool = False, sees: bool = True) -> Client:
        user = User.objects.create_user(f"visitor{next(numbers)}", is_staff=True, is_superuser=everything)
        wanted = [*codenames, *(["view_dashboard"] if sees else [])]
        found = Permission.objects.filter(content_type__app_label="jobs_app", codename__in=wanted)
        assert len(set(wanted)) == len(found), f"no such permission among {wanted}"
        user.user_permissions.set(found)
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def page_url() -> Callable[..., str]:
    return lambda name, *arguments: reverse(f"admin:jobs_app_{name}", args=arguments)
