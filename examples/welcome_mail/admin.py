"""Members: whoever is added here is welcomed as everybody else."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from examples.welcome_mail.jobs import welcome
from examples.welcome_mail.models import Member
from jobs_app.admin import subject_jobs_link


@admin.register(Member)
class MemberAdmin(admin.ModelAdmin):
    list_display = ("id", "name", "email", "joined_at", "welcomed_at", "jobs")
    list_display_links = ("name",)
    search_fields = ("name", "email")
    readonly_fields = ("welcomed_at",)

    def save_model(self, request: HttpRequest, obj: Member, form: Any, change: bool) -> None:
        """In the transaction that Django's admin has around it."""
        super().save_model(request, obj, form, change)
        if not change:
            welcome(obj)

    @admin.display(description="jobs")
    def jobs(self, member: Member) -> str:
        return subject_jobs_link(f"member {member.pk}", site=self.admin_site.name)
