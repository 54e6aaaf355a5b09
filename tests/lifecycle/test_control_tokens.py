"""API tokens by hand: made, told once, revoked."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.forms.models import model_to_dict

from jobs_app import job
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle import control
from jobs_app.models import ApiToken, ControlEvent
from jobs_app.redaction import redact
from jobs_app.tokens import hash_of
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def types() -> None:
    job(name="report")(lambda: None)
    job(name="refund", queue="money", permission="auth.change_group")(lambda: None)


def make(name: str = "crawler", **options: Any) -> control.Created:
    return control.create_token(name, "ann", "they asked", **{"scopes": ["pull", "report"]} | options)


def stored() -> str:
    """All that is kept of tokens, as a dump would have it."""
    rows = [model_to_dict(row) for model in (ApiToken, ControlEvent) for row in model.objects.all()]
    return json.dumps(rows, default=str)


def test_a_token_has_what_it_was_made_with() -> None:
    with at(0):
        created = make(queues=("mail", "crawl.*"), job_types=["report"], expires_at=T + timedelta(days=90))
    row = ApiToken.objects.get()
    assert (row, row.name, row.prefix, row.token_hash) == (
        created.token,
        "crawler",
        created.moved[0],
        hash_of(created.text),
    )
    assert (row.scopes, row.queues, row.job_types) == (["pull", "report"], ["mail", "crawl.*"], ["report"])
    assert (row.expires_at, row.created_by, row.revoked_at) == (T + timedelta(days=90), "ann", None)
    assert created


def test_its_text_is_told_once_and_stored_nowhere() -> None:
    created = make()
    assert created.text not in stored()
    assert created.text.rpartition("_")[2] not in stored()
    assert created.text not in repr(created)


def test_scopes_are_kept_once_and_in_order() -> None:
    assert make(scopes=iter(["operate", "pull", "pull"])).token.scopes == ["pull", "operate"]


def test_a_name_may_be_given_again_as_when_a_token_is_replaced() -> None:
    assert make().moved != make().moved


def test_the_event_tells_what_it_is_for_and_none_of_it_is_hidden() -> None:
    with at(0):
        created = make(queues=["mail"], expires_at=T + timedelta(days=1))
        control.revoke_token(created.token.prefix, "bob", "leaked")
    first, last = ControlEvent.objects.order_by("pk")
    prefix = created.token.prefix
    assert (first.actor, first.action, first.target_kind, first.target) == ("ann", "create", "token", prefix)
    assert (last.actor, last.action, last.target_kind, last.target) == ("bob", "revoke", "token", prefix)
    assert (first.reason, first.moved, last.reason, last.moved) == ("they asked", 1, "leaked", 1)
    told = {"name": "crawler", "scopes": ["pull", "report"], "queues": ["mail"], "job_types": []}
    assert first.detail == last.detail == redact(first.detail) == told | {"expires_at": "2026-01-02T12:00:00+00:00"}


@pytest.mark.parametrize("named", ["pk", "prefix", "text"])
def test_it_is_revoked_by_id_prefix_or_text_and_stays_as_a_row(named: str) -> None:
    created, other = make(), make()
    given = created.text if named == "text" else getattr(created.token, named)
    with at(0):
        assert control.revoke_token(given, "bob").moved == [created.token.prefix]
    assert ApiToken.objects.get(pk=created.token.pk).revoked_at == T
    assert ApiToken.objects.get(pk=other.token.pk).revoked_at is None
    assert created.text not in stored()


def test_to_revoke_it_twice_is_told_and_changes_nothing() -> None:
    created = make()
    with at(0):
        control.revoke_token(created.token.pk, "bob")
    with at(60):
        acted = control.revoke_token(created.token.pk, "cyd")
    assert (acted.moved, acted.skipped) == ([], {created.token.prefix: "is revoked already"})
    assert ApiToken.objects.get().revoked_at == T
    assert list(ControlEvent.objects.order_by("pk").values_list("moved", "skipped")) == [(1, 0), (1, 0), (0, 1)]


def test_one_that_has_expired_may_be_revoked_too() -> None:
    with at(0):
        created = make(expires_at=T + timedelta(seconds=1))
    with at(60):
        assert control.revoke_token(created.token.pk, "bob")


@pytest.mark.parametrize("unknown", [999, 2**80, "abcd1234"])
def test_what_is_no_token_is_skipped(unknown: Any) -> None:
    assert control.revoke_token(unknown, "bob").skipped == {str(unknown): "is no API token"}


@pytest.mark.parametrize("nonsense", [True, None, "", "crawler", "jobs_abcd1234_half-of-a-secret", "a\0b", 1.5])
def test_what_names_no_token_is_refused_and_not_repeated(nonsense: Any) -> None:
    with pytest.raises(OptionInvalid, match="by the 8 characters of its prefix") as caught:
        control.revoke_token(nonsense, "bob")
    assert "half-of-a-secret" not in str(caught.value)
    assert not ControlEvent.objects.exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"name": ""}, "use text of 1 to 120 characters"),
        ({"name": "x" * 121}, "use text of 1 to 120 characters"),
        ({"name": "a\0b"}, "without control characters"),
        ({"name": 7}, "use text of 1 to 120"),
        ({"scopes": []}, "use one or more of pull, report, trigger, read, operate"),
        ({"scopes": ["pull", "push"]}, "use one or more of pull, report, trigger, read, operate"),
        ({"scopes": "pull"}, "use a list of texts"),
        ({"scopes": None}, "use a list of texts"),
        ({"queues": "mail"}, "use a list of texts"),
        ({"queues": [7]}, "use a list of texts"),
        ({"queues": ["two words"]}, "use names, or patterns such as mail.*"),
        ({"queues": [""]}, "use names, or patterns"),
        ({"queues": ["q" * 121]}, "of 1 to 120 characters"),
        ({"queues": ["jobs.system"]}, "is the app's own"),
        ({"queues": ["jobs.*"]}, "is the app's own"),
        ({"job_types": ["jobs.prune"]}, "is the app's own"),
        ({"job_types": ["reprot"]}, "there is no job type 'reprot'. Did you mean 'report'?"),
        ({"expires_at": "2027-01-01"}, "use a datetime"),
        ({"expires_at": datetime(2027, 1, 1)}, "it has no time zone"),
        ({"expires_at": T}, "has passed. Give a later time, or none."),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_hint(options: dict[str, Any], complaint: str) -> None:
    with at(0), pytest.raises(OptionInvalid) as caught:
        make(**options)
    assert complaint in str(caught.value)
    assert not ApiToken.objects.exists()
    assert not ControlEvent.objects.exists()


def test_a_pattern_may_be_for_what_is_still_to_come() -> None:
    assert make(job_types=["crawl.*", "?eport", "[rs]eport"]).token.job_types == ["crawl.*", "?eport", "[rs]eport"]


class TestWhoMayNotStartAJobThemselves:
    """A token is no way around a permission that a job type asks for."""

    @pytest.fixture
    def ann(self) -> User:
        user = User.objects.create_user("ann")
        user.user_permissions.add(Permission.objects.get(codename="manage_token"))
        return user

    @pytest.mark.parametrize("scopes", [["trigger"], ["pull", "operate"]])
    @pytest.mark.parametrize("options", [{}, {"job_types": ["refund"]}, {"job_types": ["re*"]}, {"queues": ["mon*"]}])
    def test_makes_no_token_that_could(self, scopes: list[str], options: dict[str, Any], ann: User) -> None:
        with pytest.raises(OptionInvalid, match=r"refund needs the permission auth\.change_group, which ann does not"):
            control.create_token("x", ann, scopes=scopes, **options)
        assert not ApiToken.objects.exists()

    @pytest.mark.parametrize(
        "options",
        [
            {"scopes": ["pull", "report", "read"]},
            {"scopes": ["trigger"], "job_types": ["report"]},
            {"scopes": ["trigger"], "queues": ["default"]},
        ],
    )
    def test_makes_one_that_could_not(self, options: dict[str, Any], ann: User) -> None:
        assert control.create_token("x", ann, **options)

    def test_makes_it_with_the_permission(self, ann: User) -> None:
        ann.user_permissions.add(Permission.objects.get(codename="change_group"))
        assert control.create_token("x", User.objects.get(pk=ann.pk), scopes=["trigger"])


def test_what_is_refused_leaves_the_transaction_of_the_host_as_it_was() -> None:
    with at(0), pytest.raises(OptionInvalid):
        make(expires_at=T)
    assert not connection.needs_rollback
