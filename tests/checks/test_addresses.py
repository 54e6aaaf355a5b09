"""Remote workers and holders of tokens find somebody who answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.urls import include, path
from django.utils import timezone

from jobs_app import job
from jobs_app.checks import addresses
from jobs_app.lifecycle import control
from jobs_app.models import ApiToken
from tests.checks.looking import found, found_in_database


class Elsewhere:
    """A URLconf without the addresses of the app."""

    urlpatterns: list[Any] = []


class Deep:
    """One that has them far down."""

    urlpatterns = [path("a/", include([path("b/", include([path("jobs/", include("jobs_app.urls"))]))]))]


@pytest.fixture
def remote_job() -> None:
    @job(remote=True)
    def find_shops(city: str) -> None: ...


@pytest.fixture
def token(db: None) -> ApiToken:
    control.create_token("shop", scopes=["read"], actor="ann")
    return ApiToken.objects.get()


@pytest.mark.usefixtures("remote_job")
def test_remote_jobs_that_nobody_could_pull_are_a_warning(settings: Any) -> None:
    assert "jobs_app.W015" not in found()
    settings.ROOT_URLCONF = Elsewhere
    message = found()["jobs_app.W015"]
    assert "to pull find_shops, but the URLconf does not include" in message.msg
    assert 'path("jobs/", include("jobs_app.urls"))' in str(message.hint)


def test_without_remote_jobs_the_addresses_are_nobody_s_business(settings: Any) -> None:
    settings.ROOT_URLCONF = Elsewhere
    assert found() == {}


@pytest.mark.usefixtures("remote_job")
def test_the_addresses_may_be_included_anywhere(settings: Any) -> None:
    settings.ROOT_URLCONF = Deep
    assert "jobs_app.W015" not in found()


@pytest.mark.usefixtures("remote_job")
def test_a_process_without_addresses_of_its_own_hears_nothing(settings: Any) -> None:
    settings.ROOT_URLCONF = None
    assert "jobs_app.W015" not in found()


@pytest.mark.usefixtures("remote_job")
def test_an_interface_that_is_not_installed_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "is_interface_installed", lambda: False)
    assert "pip install 'jobs-app[api]'" in str(found()["jobs_app.W015"].hint)


def test_tokens_that_nobody_could_use_are_a_warning(settings: Any, token: ApiToken) -> None:
    assert found_in_database() == {}
    settings.ROOT_URLCONF = Elsewhere
    assert "API tokens in force" in found_in_database()["jobs_app.W015"].msg


@pytest.mark.parametrize("name", ["revoked_at", "expires_at"])
def test_tokens_that_have_ended_are_nobody_s_business(name: str, settings: Any, token: ApiToken) -> None:
    ApiToken.objects.update(**{name: timezone.now() - timedelta(seconds=1)})
    settings.ROOT_URLCONF = Elsewhere
    assert found_in_database() == {}
