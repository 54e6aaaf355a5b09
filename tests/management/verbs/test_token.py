"""`jobs token`."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.tokens import find_token
from jobs_app.models import ApiToken, ControlEvent
from tests.lifecycle.rows import T, at
from tests.management.calling import jobs, jobs_json
from tests.management.test_jobs import MANAGE, manage
from tests.one_database import on_one_database

pytestmark = [pytest.mark.django_db, on_one_database]


@pytest.fixture(autouse=True)
def crawl() -> None:
    job(name="crawl")(lambda: None)


def create(*arguments: str) -> str:
    return jobs("token", "create", "crawler", "--scopes", "pull,report", *arguments)[0].strip()


def test_the_token_alone_is_printed_and_the_words_beside_it() -> None:
    data, words = jobs("token", "create", "crawler", "--scopes", "pull,report")
    row = ApiToken.objects.get()
    assert find_token(connection, data.removesuffix("\n")) == row
    assert row.prefix in words
    assert "never again" in words
    assert data.strip() not in words


def test_a_shell_can_keep_it(child_environment: dict[str, str]) -> None:
    command = f'TOKEN=$("{sys.executable}" "{MANAGE}" jobs token create bot --scopes read 2>/dev/null); echo "<$TOKEN>"'
    environment = {**os.environ, **child_environment}
    answer = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, check=True)
    assert find_token(connection, answer.stdout.strip("<>\n")) is not None


def test_options_say_what_it_is_for() -> None:
    with at(0):
        create(
            "--queues", "mail, crawl.*", "--job-types=crawl", "--expires-in=90d", "--reason=asked", "--actor=cli:ada"
        )
    row, event = ApiToken.objects.get(), ControlEvent.objects.get()
    assert (row.name, row.scopes, row.queues, row.job_types) == (
        "crawler",
        ["pull", "report"],
        ["mail", "crawl.*"],
        ["crawl"],
    )
    assert (row.expires_at, row.created_by) == (T + timedelta(days=90), "cli:ada")
    assert (event.actor, event.reason) == ("cli:ada", "asked")


def test_options_may_stand_before_the_name_and_the_end_may_be_a_moment() -> None:
    jobs("token", "create", "--scopes=read", "--expires-at", "2999-01-31T09:00:00+01:00", "reader")
    row = ApiToken.objects.get()
    assert row.expires_at is not None
    assert (row.name, row.scopes, row.expires_at.isoformat()) == ("reader", ["read"], "2999-01-31T08:00:00+00:00")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--job-types", "crwl"], "Did you mean 'crawl'"),
        (["--queues", "jobs.system"], "the app's own"),
        (["--expires-at", "2020-01-31T09:00:00Z"], "has passed"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_stored(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        create(*arguments)
    assert caught.value.returncode == 1
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dance"],
        ["create", "x"],
        ["create", "--scopes", "pull"],
        ["create", "x", "--scopes", "pull", "--expires-in", "1d", "--expires-at", "2999-01-31T09:00:00Z"],
        ["revoke"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    answer = manage("token", *arguments)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "usage: manage.py jobs token" in answer.stderr


def test_json_has_the_token_and_its_row() -> None:
    told = jobs_json("token", "create", "crawler", "--scopes", "pull")
    row = find_token(connection, told["token"])
    assert row is not None
    assert (told["id"], told["prefix"], told["status"], told["scopes"]) == (row.pk, row.prefix, "in force", ["pull"])
    assert row.token_hash not in str(told)


def test_the_format_may_stand_before_what_is_to_be_done() -> None:
    data, _ = jobs("token", "--format", "json", "list")
    assert '"tokens": []' in data


def test_the_list_has_all_but_the_secret() -> None:
    token = create("--queues=mail")
    jobs("token", "revoke", token.split("_")[1])
    other = create("--expires-in=1h")
    data, words = jobs("token", "list")
    lines = data.splitlines()
    assert lines[1].split()[:3] == [other.split("_")[1], "crawler", "in"]
    assert "pull, report" in lines[1]
    assert "revoked" in lines[2]
    assert "mail" in lines[2]
    assert token not in data
    assert words == ""
    told = jobs_json("token", "list", "--limit", "1")
    assert ([each["status"] for each in told["tokens"]], told["capped"]) == (["in force"], True)
    assert "raise --limit" in jobs("token", "list", "--limit", "1")[1]


@pytest.mark.parametrize("by", ["prefix", "text"])
def test_it_is_revoked_by_its_prefix_or_its_text(by: str) -> None:
    token = create()
    prefix = token.split("_")[1]
    data, _ = jobs("token", "revoke", prefix if by == "prefix" else token, "--reason", "leaked")
    assert data == f"{prefix} revoked: the next request with it is refused.\n"
    assert find_token(connection, token) is None
    assert ControlEvent.objects.get(action="revoke").reason == "leaked"
    data, words = jobs("token", "revoke", prefix)
    assert (data, words) == ("", f"{prefix} is revoked already.\n")
    assert jobs_json("token", "revoke", prefix) == {
        "schema": 1,
        "revoked": [],
        "skipped": {prefix: "is revoked already"},
    }


@pytest.mark.parametrize(("prefix", "message"), [("abcd1234", "is no API token. See"), ("crawler", "8 characters")])
def test_what_is_no_token_cannot_be_revoked(prefix: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        jobs("token", "revoke", prefix)


def test_whatever_a_row_holds_the_list_is_one_line_each() -> None:
    odd: dict[str, Any] = {"scopes": [{}], "queues": 7, "job_types": ["a\nb"]}
    ApiToken.objects.create(name="a\nb\x1b[2J", prefix="abcd1234", **odd)
    data, _ = jobs("token", "list")
    assert len(data.splitlines()) == 2
    assert "\x1b" not in data
