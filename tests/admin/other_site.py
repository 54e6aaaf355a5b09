"""A project with a second admin site, which has the app's pages too."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from jobs_app.admin import register

ops = admin.AdminSite(name="ops")
register(ops)

urlpatterns = [path("admin/", admin.site.urls), path("ops/", ops.urls)]
