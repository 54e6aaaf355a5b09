"""Leads, each with the way to the run that found it and to all that was done in its city."""

from __future__ import annotations

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from examples.lead_scraper.models import Lead
from jobs_app.admin import subject_jobs_link


@admin.register(Lead)
class LeadAdmin(admin.ModelAdmin):
    """Found by workers, never made by hand."""

    list_display = ("name", "phone", "trade", "city", "run", "searches", "found_at")
    list_filter = ("city", "trade")
    search_fields = ("name", "phone")

    @admin.display(description="found by")
    def run(self, lead: Lead) -> str:
        page = reverse("admin:jobs_app_run_detail", args=[lead.run_id], current_app=self.admin_site.name)
        return format_html('<a href="{}">run</a>', page)

    @admin.display(description="searches there")
    def searches(self, lead: Lead) -> str:
        return subject_jobs_link(lead.city, label=lead.city, site=self.admin_site.name)

    def has_add_permission(self, request: object) -> bool:
        return False

    def has_change_permission(self, request: object, obj: object = None) -> bool:
        return False
