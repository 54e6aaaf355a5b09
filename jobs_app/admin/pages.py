"""What a page is: its address, the function that answers, and who may. Every page of the app is declared as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path

from jobs_app.admin.unmigrated import unmigrated_page
from jobs_app.admin.visits import APP, Visit
from jobs_app.lifecycle.overrides import keep_up
from jobs_app.values import UNSTORABLE

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

READS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class Page:
    """A page that shows, or with `act` one that changes something: GET asks for confirmation, POST does it."""

    route: str
    name: str
    view: Callable[..., HttpResponseBase]
    permission: str | tuple[str, ...] = "view_dashboard"
    act: str | tuple[str, ...] = ()
    label: StrOrPromise = ""  # of the button that leads to it
    help: StrOrPromise = ""

    @property
    def permissions(self) -> tuple[str, ...]:
        """All that are needed, whatever the method."""
        return tuple(f"{APP}.{codename}" for codename in dict.fromkeys((*_each(self.permission), *_each(self.act))))

    @property
    def methods(self) -> tuple[str, ...]:
        return (*READS, "POST") if self.act else READS

    def may(self, user: Any) -> bool:
        return user.is_active and user.has_perms(self.permissions)


class PageAdmin(admin.ModelAdmin):
    """One entry of the menu, with the pages behind it; the first is where the menu leads."""

    pages: Sequence[Page] = ()

    def get_urls(self) -> list[URLPattern]:
        return [path(page.route, self._answering(page), name=f"{APP}_{page.name}") for page in self.pages]

    def _answering(self, page: Page) -> Callable[..., HttpResponseBase]:
        def answer(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
            if not page.may(request.user):
                raise PermissionDenied
            if request.method not in page.methods:
                return HttpResponseNotAllowed(page.methods)
            if any(isinstance(given, str) and UNSTORABLE.search(given) for given in arguments.values()):
                raise Http404  # a name that nothing can have, and no database would look for
            request.current_app = self.admin_site.name
            keep_up()
            visit = Visit(request, self.admin_site, self.model, page)
            try:
                return page.view(visit, **arguments)
            except DatabaseError as error:
                if (told := unmigrated_page(visit, error)) is None:
                    raise
                return told

        return self.admin_site.admin_view(answer)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.pages[0].may(request.user)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def _each(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given
