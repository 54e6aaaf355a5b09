"""Addresses whose view enqueues a task that no module named `tasks` has."""

from __future__ import annotations

from django.urls import path

from tests.tasks_backend import views

urlpatterns = [path("", views.index)]
