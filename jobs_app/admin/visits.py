"""One request to one page: who asks, what they may, where things are, and how an answer is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.text import capfirst

from jobs_app.insights.budget import OutOfBudget, budget
from jobs_app.lifecycle.database import jobs_connection

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

    from jobs_app.admin.pages import Page

APP = "jobs_app"
LIST_SECONDS = 5.0
Result = TypeVar("Result")


class Visit:
    """What the function of a page gets, before the arguments of its address."""

    def __init__(self, request: HttpRequest, site: AdminSite, model: type[Model], page: Page) -> None:
        self.request = request
        self.site = site
        self.model = model
        self.page = page
        self.user: Any = request.user
        self.cut: list[float] = []  # the budgets, in seconds, of what was stopped

    @cached_property
    def connection(self) -> BaseDatabaseWrapper:
        return jobs_connection()

    def may(self, *codenames: str) -> bool:
        return bool(self.user.has_perms([f"{APP}.{codename}" for codename in codenames]))

    def url(self, name: str, *arguments: object, query: Mapping[str, object] | None = None) -> str:
        address = reverse(f"admin:{APP}_{name}", args=arguments, current_app=self.site.name)
        return f"{address}?{urlencode(query, doseq=True)}" if query else address

    def back(self, default: str) -> str:
        """Where the person came from, with the filters of that page; only to this site."""
        wanted = self.request.POST.get("next") or self.request.GET.get("next") or ""
        hosts, is_secure = {self.request.get_host()}, self.request.is_secure()
        return wanted if url_has_allowed_host_and_scheme(wanted, hosts, require_https=is_secure) else default

    def read(self, function: Callable[[], Result], *, seconds: float = LIST_SECONDS) -> Result | None:
        """What the function reads, or None where its time was over: then the page says so, and has all the rest."""
        try:
            with budget(self.connection, seconds):
                return function()
        except OutOfBudget:
            self.cut.append(seconds)
            return None

    def render(
        self,
        template: str,
        title: StrOrPromise,
        *,
        live: int | None = None,
        crumbs: Sequence[tuple[str, StrOrPromise]] | None = None,
        status: int = 200,
        **context: Any,
    ) -> TemplateResponse:
        """A page of ours in the frame of the site; `live` is after how many seconds it may be read anew.

        Without `crumbs` the way leads over the first page of the same entry of the menu.
        """
        frame = {
            **self.site.each_context(self.request),
            "title": title,
            "opts": self.model._meta,
            "visit": self,
            "crumbs": self._way() if crumbs is None else crumbs,
            "live": live,
        }
        return TemplateResponse(self.request, f"admin/{APP}/{template}", frame | context, status=status)

    def _way(self) -> list[tuple[str, StrOrPromise]]:
        first = f"{self.model._meta.model_name}_changelist"
        if self.page.name == first:
            return []
        return [(self.url(first), capfirst(str(self.model._meta.verbose_name_plural)))]
