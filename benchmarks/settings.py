"""The Django project that measured programs run in. BENCH_APPS names the apps of the library that is measured."""

from __future__ import annotations

import os

from jobsite.database import database_from_url

SECRET_KEY = "not a secret"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    *filter(None, os.environ.get("BENCH_APPS", "").split(",")),
]
DATABASES = {"default": database_from_url(os.environ.get("BENCH_URL", "sqlite:///:memory:"))}
# Django's own default is 0. Libraries that close old connections between jobs then open one for each job.
DATABASES["default"]["CONN_MAX_AGE"] = None if os.environ.get("BENCH_PROFILE", "tuned") == "tuned" else 0
