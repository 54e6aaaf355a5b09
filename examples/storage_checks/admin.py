"""Providers with what is known of them, those who are blocked, and how the checks went."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest

from examples.storage_checks.models import Block, Measurement, Provider
from jobs_app.admin import subject_jobs_link


class ReadOnly(admin.ModelAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Provider)
class ProviderAdmin(ReadOnly):
    """The registry says who there is; who is not to be checked is blocked here."""

    list_display = ("name", "number", "active", "approved", "is_tested", "checks")
    list_filter = ("network", "active", "approved")
    search_fields = ("name", "number")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Provider]:
        tested = Provider.objects.tested().filter(pk=OuterRef("pk"))
        return super().get_queryset(request).annotate(is_tested=Exists(tested))

    @admin.display(description="tested", boolean=True)
    def is_tested(self, provider: Provider) -> bool:
        return provider.is_tested  # type: ignore[attr-defined]  # an annotation

    @admin.display(description="checks")
    def checks(self, provider: Provider) -> str:
        return subject_jobs_link(provider.pk, label="checks", site=self.admin_site.name)


@admin.register(Block)
class BlockAdmin(admin.ModelAdmin):
    list_display = ("of", "reason")


@admin.register(Measurement)
class MeasurementAdmin(ReadOnly):
    list_display = ("until", "provider", "kind", "success", "error", "aborted")
    list_filter = ("kind", "provider")
    date_hierarchy = "until"
