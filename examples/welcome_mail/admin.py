"""Members: whoever is added here is welcomed as everybody else."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from examples.welcome_mail.joining import welcome
from examples.welcome_mail.models import Member


@admin.register(Member)
class MemberAdmin(admin.ModelAdmin):
    list_display = ("name", "email", "joined_at", "welcomed_at", "runs")
    search_fields = ("name", "email")
    readonly_fields = ("welcomed_at",)

    def save_model(self, request: HttpRequest, obj: Member, form: Any, change: bool) -> None:
        """In the transaction that Django's admin has around it."""
        super().save_model(request, obj, form, change)
        if not change:
            welcome(obj)

    @admin.display(description="runs")
    def runs(self, member: Member) -> str:
        page = reverse("admin:jobs_app_run_changelist", current_app=self.admin_site.name)
        return format_html('<a href="{}?subject=member+{}">runs</a>', page, member.pk)
