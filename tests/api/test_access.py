"""Who gets in: the token in the header with the scope of the operation, and nobody else."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from jobs_app.api.interface import api
from jobs_app.lifecycle import control
from jobs_app.models import ApiToken
from jobs_app.tokens import SCOPES, new_token
from tests.api.operations import OPERATIONS, SAMPLES, ask
from tests.api.speaking import ROOT, Speaker
from tests.api.stored import everything_stored
from tests.api.tenants import Site
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db

ALL = sorted(OPERATIONS)


def as_sent(name: str, site: Site) -> dict[str, Any]:
    """A request that is granted to who may, as a client without a token takes it."""
    operation, sample = OPERATIONS[name], SAMPLES[name](site.red)
    given: dict[str, Any] = {"path": ROOT + operation.path.format(**sample.path), "method": operation.method}
    if operation.method == "GET":
        return given | {"query_params": sample.query}
    return given | {"data": json.dumps(sample.body), "content_type": "application/json"}


def bearer(text: str, scheme: str = "Bearer") -> dict[str, Any]:
    return {"headers": {"Authorization": f"{scheme} {text}"}}


def test_every_operation_that_is_described_has_a_scope_and_a_sample() -> None:
    described = {
        operation["operationId"]: (method.upper(), path)
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method, operation in methods.items()
    }
    assert {name: (each.method, ROOT + each.path) for name, each in OPERATIONS.items()} == described
    assert {each.scope for each in OPERATIONS.values()} == set(SCOPES) - {"metrics"}  # which is for a page beside them
    assert set(SAMPLES) == set(described)


@pytest.mark.parametrize("name", ALL)
def test_exactly_its_scope_opens_an_operation(name: str, site: Site) -> None:
    sample, wanted = SAMPLES[name](site.red), OPERATIONS[name].scope
    others = [scope for scope in SCOPES if scope != wanted]
    refused = [Speaker() for _ in range(len(others) + 2)]
    for speaker, scopes in zip(refused, ([], *([other] for other in others), others), strict=True):
        ApiToken.objects.filter(pk=speaker.token.pk).update(scopes=scopes)
    before = everything_stored()
    for speaker in refused:
        answer = ask(speaker, name, sample)
        assert answer.status_code == 403
        assert f"needs {wanted}" in answer.json()["detail"]
    assert everything_stored() == before
    assert ask(Speaker(wanted), name, sample).status_code == 200


@pytest.fixture
def strangers(site: Site) -> dict[str, dict[str, Any]]:
    """What nobody gets in with, as a client sends it."""
    made = {name: control.create_token(name, "ann", scopes=SCOPES).text for name in ("expired", "revoked", "good")}
    ApiToken.objects.filter(name="expired").update(expires_at=timezone.now() - timedelta(seconds=1))
    control.revoke_token(made["revoked"], "ann")
    good, prefix = made["good"], made["good"][: len("jobs_abcd1234_")]
    return {
        "none": {},
        "empty": {"headers": {"Authorization": ""}},
        "no scheme": {"headers": {"Authorization": good}},
        "unknown": bearer(new_token().text),
        "another secret": bearer(prefix + new_token().text[len(prefix) :]),
        "expired": bearer(made["expired"]),
        "revoked": bearer(made["revoked"]),
        "cut": bearer(good[:-1]),
        "longer": bearer(good + "x"),
        "upper case": bearer(good.upper()),
        "two": bearer(f"{good}, {good}"),
        "a line more": bearer(good + "\n"),
        "the hash": bearer(ApiToken.objects.get(name="good").token_hash),
        "the prefix": bearer(ApiToken.objects.get(name="good").prefix),
        "not ASCII": bearer("jobs_\u00e4\u00df\u0661\u0662\u0663\u0664\u0665\u0666_" + "\u00e4" * 43),
        "very long": bearer("jobs_" + "a" * 100_000),
        "basic": bearer(good, scheme="Basic"),
        "token": bearer(good, scheme="Token"),
        "another header": {"headers": {"X-Api-Key": good, "X-Authorization": f"Bearer {good}"}},
        "query": {"query": {"token": good, "access_token": good, "Authorization": f"Bearer {good}"}},
        "cookie": {"cookies": {"Authorization": f"Bearer {good}", "token": good}},
    }


@pytest.mark.parametrize("name", ALL)
def test_nobody_gets_in_without_a_token_in_force(name: str, site: Site, strangers: dict[str, dict[str, Any]]) -> None:
    before = everything_stored()
    for who, carries in strangers.items():
        client = Client(headers=carries.get("headers"), enforce_csrf_checks=True)
        client.cookies.load(carries.get("cookies", {}))
        sent = as_sent(name, site)
        sent["query_params"] = {**sent.get("query_params", {}), **carries.get("query", {})}
        answer = client.generic(sent.pop("method"), **sent)
        assert answer.status_code == 401, who
        assert answer["WWW-Authenticate"].startswith("Bearer")
        assert "Authorization: Bearer" in answer.json()["detail"]
    assert everything_stored() == before


@pytest.mark.parametrize("name", ALL)
def test_the_session_of_a_superuser_means_nothing(name: str, site: Site) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))
    before = everything_stored()
    sent = as_sent(name, site)
    assert client.generic(sent.pop("method"), **sent).status_code == 401
    assert everything_stored() == before


@pytest.mark.parametrize("name", ALL)
def test_a_token_needs_no_csrf_token_beside_it_whatever_cookies_there_are(name: str, site: Site) -> None:
    client = Client(enforce_csrf_checks=True, **bearer(Speaker().text))
    client.force_login(User.objects.create_user("ann"))
    sent = as_sent(name, site)
    answer = client.generic(sent.pop("method"), **sent)
    assert answer.status_code == 200, answer.content
    assert not answer.cookies


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer"])
def test_the_scheme_may_be_written_in_any_case(scheme: str, site: Site) -> None:
    assert Client(**bearer(Speaker().text, scheme)).get(f"{ROOT}runs").status_code == 200


def test_other_origins_are_told_nothing_that_lets_a_browser_in(site: Site) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for method in ("OPTIONS", "GET", "POST"):
        answer = Client(headers=headers).generic(method, f"{ROOT}runs")
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_the_use_of_a_token_is_noted(site: Site) -> None:
    speaker = Speaker("read")
    assert speaker.token.last_used_at is None
    speaker.get("runs")
    speaker.token.refresh_from_db()
    assert speaker.token.last_used_at is not None


def test_who_is_refused_leaves_no_trace_of_use(site: Site) -> None:
    speaker = Speaker("pull")
    assert speaker.get("runs").status_code == 403
    speaker.token.refresh_from_db()
    assert speaker.token.last_used_at is None


def test_a_token_that_is_revoked_is_worth_nothing_to_the_next_request(site: Site) -> None:
    speaker = Speaker("read")
    assert speaker.get("runs").status_code == 200
    control.revoke_token(speaker.text, "ann")
    assert speaker.get("runs").status_code == 401


def test_a_token_expires_by_the_clock_of_the_database(site: Site) -> None:
    speaker = Speaker("read")
    ApiToken.objects.update(expires_at=T + timedelta(seconds=60))
    for seconds, status in ((59, 200), (60, 401)):
        with at(seconds):
            assert speaker.get("runs").status_code == status
