"""API tokens, for programs that speak over HTTP: make one, list them, revoke one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app.insights import tokens
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control.tokens import NOT_FOUND
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.management.acts import add_act_arguments
from jobs_app.management.arguments import add_common_arguments, moment, names, period, positive
from jobs_app.management.output import Output, shown
from jobs_app.models import ApiToken
from jobs_app.tokens import SCOPES

LISTS = ("scopes", "queues", "job_types")
MOMENTS = ("created_at", "expires_at", "last_used_at", "revoked_at")
AS_STORED = ("id", "prefix", "name", *LISTS, "created_by", *MOMENTS)
HEADERS = ("PREFIX", "NAME", "STATUS", "SCOPES", "QUEUES", "JOB TYPES", "EXPIRES", "LAST USED", "MADE BY")
ALL = "all"


def add_arguments(parser: CommandParser) -> None:
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    for name, (told, add_own, _) in ACTS.items():
        one = acts.add_parser(name, help=told, description=told)
        add_common_arguments(one)
        add_own(one)


def handle(options: dict[str, Any], out: Output) -> None:
    _, _, do = ACTS[options["act"]]
    do(options, out)


def _add_create(parser: CommandParser) -> None:
    add = parser.add_argument
    add("name", help="who will use it, as people know it")
    add("--scopes", type=names, required=True, metavar="A,B", help=f"what it may do: {', '.join(SCOPES)}")
    add("--queues", type=names, default=(), metavar="A,B", help="names or patterns, as mail,crawl.*; all if left out")
    add("--job-types", type=names, default=(), metavar="A,B", help="names or patterns; all if left out")
    end = parser.add_mutually_exclusive_group().add_argument
    end("--expires-in", type=period, metavar="TIME", help="worth nothing after so long, as 90d; never if left out")
    end("--expires-at", type=moment, metavar="TIME", help="the same as a moment, as 2027-01-31T09:00:00Z")
    add_act_arguments(parser)


def _create(options: dict[str, Any], out: Output) -> None:
    chosen = {name: options[name] for name in ("reason", "scopes", "queues", "job_types")}
    created = control.create_token(options["name"], options["actor"], expires_at=_end(options), **chosen)
    if out.as_json:
        out.json({"token": created.text, **_data(created.token, tokens.IN_FORCE)})
        return
    out.line(created.text)
    ends = "never" if created.token.expires_at is None else shown(created.token.expires_at)
    out.note(f"Token {created.token.prefix} is told here and never again: keep it. It expires: {ends}.")


def _end(options: dict[str, Any]) -> datetime | None:
    if options["expires_in"] is None:
        return options["expires_at"]
    return database_now(jobs_connection()) + timedelta(seconds=options["expires_in"])


def _add_list(parser: CommandParser) -> None:
    parser.add_argument("--limit", type=positive, default=tokens.MOST_SHOWN, help="so many at most, %(default)s")


def _list(options: dict[str, Any], out: Output) -> None:
    found = tokens.all_tokens(jobs_connection(), limit=options["limit"])
    if out.as_json:
        out.json({"tokens": [_data(*each) for each in found.tokens], "capped": found.is_capped})
        return
    out.table(HEADERS, [_line(*each) for each in found.tokens])
    if found.is_capped:
        out.note(f"There are more than {options['limit']}: raise --limit.")


def _add_revoke(parser: CommandParser) -> None:
    parser.add_argument("prefix", help="the 8 characters after jobs_; manage.py jobs token list tells them")
    add_act_arguments(parser)


def _revoke(options: dict[str, Any], out: Output) -> None:
    acted = control.revoke_token(options["prefix"], options["actor"], options["reason"])
    for prefix, why in acted.skipped.items():
        if why == NOT_FOUND:
            raise CommandError(f"{prefix} {why}. See manage.py jobs token list.")
        out.note(f"{prefix} {why}.")
    if out.as_json:
        out.json({"revoked": acted.moved, "skipped": acted.skipped})
        return
    for prefix in acted.moved:
        out.line(f"{prefix} revoked: the next request with it is refused.")


def _data(token: ApiToken, status: str) -> dict[str, Any]:
    return {name: getattr(token, name) for name in AS_STORED} | {"status": status}


def _line(token: ApiToken, status: str) -> tuple[object, ...]:
    lists = [", ".join(tokens.listed(getattr(token, name))) or ALL for name in LISTS]
    return (token.prefix, token.name, status, *lists, token.expires_at, token.last_used_at, token.created_by)


ACTS = {
    "create": ("Make a token, and print it: it is told once, here, and stored nowhere.", _add_create, _create),
    "list": ("All tokens: what each is for, whether it is in force, and when it was used last.", _add_list, _list),
    "revoke": ("Take a token back: the next request with it is refused.", _add_revoke, _revoke),
}
