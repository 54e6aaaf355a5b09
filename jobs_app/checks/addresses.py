"""Checks that programs which speak to the app over HTTP find somebody there: a URLconf has to include its addresses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Tags, register
from django.db.models import Q
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from jobs_app.checks.server import answering
from jobs_app.checks.telling import TAG, silenced_with, warning
from jobs_app.insights.doctor.finding import few
from jobs_app.insights.tables import missing_tables
from jobs_app.models import ApiToken
from jobs_app.registry import registry

APP_NAME = "jobs_app"  # as in jobs_app/urls.py
INCLUDE = 'path("jobs/", include("jobs_app.urls"))'


@register(TAG)
def remote_jobs_can_be_pulled(**kwargs: Any) -> list[CheckMessage]:
    names = [job_type.name for job_type in registry if job_type.remote]
    return _unless_reachable(f"Remote workers are to pull {few(names)}") if names else []


@register(Tags.database)
def tokens_can_be_used(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    connection = answering(databases)
    if connection is None or ApiToken._meta.db_table in missing_tables(connection):
        return []
    ends_later = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    if not ApiToken.objects.using(connection.alias).filter(ends_later, revoked_at=None).exists():
        return []
    return _unless_reachable("There are API tokens in force")


def is_interface_installed() -> bool:
    """The extra `api`. A tool to build programs is called ninja, too."""
    try:
        return find_spec("ninja.openapi") is not None
    except ModuleNotFoundError:
        return False


def _unless_reachable(why: str) -> list[CheckMessage]:
    if not _is_included():
        sentence = f"{why}, but the URLconf does not include the addresses of the app."
        hint = f"Add {INCLUDE} to the urlpatterns of {django_settings.ROOT_URLCONF}. "
        hint += "Where another process answers them: " + silenced_with("W015")
    elif not is_interface_installed():
        sentence, hint = f"{why}, but the HTTP interface is not installed.", "Run pip install 'jobs-app[api]'."
    else:
        return []
    return [warning("W015", sentence, hint=hint)]


def _is_included() -> bool:
    """True, too, for a process that answers no requests at all: it has no URLconf."""
    return not getattr(django_settings, "ROOT_URLCONF", None) or _holds_ours(get_resolver().url_patterns)


def _holds_ours(patterns: Iterable[URLPattern | URLResolver]) -> bool:
    resolvers = [each for each in patterns if isinstance(each, URLResolver)]
    return any(each.app_name == APP_NAME or _holds_ours(each.url_patterns) for each in resolvers)
