"""The control plane: everything an operator does, as pages of the Django admin.

A site of your own has them after `jobs_app.admin.register(site)`.
"""

from django.apps import apps
from django.contrib import admin

from jobs_app.admin.links import subject_jobs_link
from jobs_app.admin.menu import register

__all__ = ["register", "subject_jobs_link"]

if apps.is_installed("django.contrib.admin"):  # template tags import this module wherever the app is
    register(admin.site)
