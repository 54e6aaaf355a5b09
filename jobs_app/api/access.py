"""Who calls: the token in the header, and what it may. Sessions and cookies mean nothing here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest
from ninja.security.base import AuthBase

from jobs_app.api.problems import Problem
from jobs_app.api.throttling import buckets
from jobs_app.conf import get_settings
from jobs_app.lifecycle.control.acting import APP, LONGEST_ACTOR
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.overrides import keep_up
from jobs_app.lifecycle.tokens import find_token, note_use
from jobs_app.models import ApiToken
from jobs_app.registry import SYSTEM_NAMES, registry
from jobs_app.serving import Serving, is_among

# What a scope lets its holder do, as the permissions that users have for the same acts.
PERMISSIONS = {
    "trigger": {"trigger_job"},
    "operate": {
        *("cancel_run", "retry_run", "trigger_job"),
        *("pause_all", "pause_queue", "pause_job_type", "pause_subject", "pause_schedule"),
    },
}
UNKNOWN = (
    "this needs an API token that is in force, as Authorization: Bearer jobs_...; make one in the admin, or with "
    "manage.py jobs token create."
)


@dataclass(frozen=True)
class Caller:
    """One token at work. To `control` it is a user, with the permissions of its scopes."""

    token: ApiToken
    text: str

    is_active = True

    @property
    def pk(self) -> str:
        return self.token.prefix

    def get_username(self) -> str:
        return f"token:{self.token.name}"[:LONGEST_ACTOR]

    def has_perm(self, permission: str) -> bool:
        """One that a job type asks for itself, whoever triggers it, is given by naming that type in the token."""
        app, _, codename = permission.partition(".")
        if app == APP and codename in self._permissions:
            return True
        named = (registry.find(name) for name in self.token.job_types)
        return any(job_type is not None and job_type.permission == permission for job_type in named)

    def serves(self, queue: str) -> bool:
        return Serving(tuple(self.token.queues))(queue)

    def takes(self, job_type: str) -> bool:
        if job_type.startswith(SYSTEM_NAMES):
            return False
        return is_among(job_type, self.token.job_types)

    def may(self, queue: str, job_type: str) -> bool:
        return self.serves(queue) and self.takes(job_type)

    @property
    def is_restricted(self) -> bool:
        return bool(self.token.queues or self.token.job_types)

    def require(self, *, queue: str | None = None, job_type: str | None = None) -> None:
        if queue is not None and not self.serves(queue):
            raise Problem(403, f"this token is not for queue {queue!r}: {_for(self.token.queues, 'queues')}.")
        if job_type is not None and not self.takes(job_type):
            raise Problem(403, f"this token is not for job type {job_type!r}: {_for(self.token.job_types, 'types')}.")

    def require_choice(self, *, queue: str, job_type: str) -> None:
        """Of what a list is about: a token for some names one of them."""
        for names, chosen, parameter in (
            (self.token.queues, queue, "queue"),
            (self.token.job_types, job_type, "job_type"),
        ):
            if names and not chosen:
                kind = parameter.replace("_", " ")
                raise Problem(403, f"this token is for some {kind}s: say which, as {parameter}={names[0]}.")
        self.require(queue=queue or None, job_type=job_type or None)

    def require_in_force(self) -> None:
        """Asked again after a wait."""
        if find_token(jobs_connection(), self.text) is None:
            raise Problem(401, UNKNOWN)

    @cached_property
    def _permissions(self) -> set[str]:
        return set().union(*(PERMISSIONS.get(scope, set()) for scope in self.token.scopes))


class Bearer(AuthBase):
    """For one scope."""

    openapi_type = "http"
    openapi_scheme = "bearer"
    openapi_description = "An API token, from the admin or `manage.py jobs token create`."

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__()

    def __call__(self, request: HttpRequest) -> Caller:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        connection = jobs_connection()
        token = find_token(connection, text) if scheme.lower() == "bearer" else None
        if token is None:
            raise Problem(401, UNKNOWN)
        if (wait := buckets.take(token.pk, get_settings().api_requests_per_minute)) is not None:
            raise Problem(429, "this token calls too often. Come again later, or less often.", retry_after=wait)
        if self.scope not in token.scopes:
            has = ", ".join(token.scopes) or "none"
            raise Problem(403, f"this token has the scopes {has}: this call needs {self.scope}. Make another token.")
        note_use(connection, token)
        keep_up()
        return Caller(token, text)


def caller_of(request: Any) -> Caller:
    caller: Caller = request.auth
    return caller


def _for(names: list[str], what: str) -> str:
    return f"it is for {', '.join(names)} alone" if names else f"the app's own {what} are not for tokens"
