"""The project that the tests run in: the app, the admin and one database, SQLite unless DATABASE_URL says otherwise."""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

from jobsite.database import database_from_url

# A file and not memory, because tests start other processes; the process id lets runs go on side by side.
SCRATCH = Path(tempfile.gettempdir()) / f"jobs-app-{os.getpid()}.sqlite3"

DATABASES = {"default": database_from_url(os.environ.get("DATABASE_URL", f"sqlite:///{SCRATCH}"))}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["TEST"] = {"NAME": str(SCRATCH.with_suffix(".test.sqlite3"))}
else:
    DATABASES["default"]["TEST"] = {"NAME": f"test_jobs_app_{os.getpid()}"}

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "jobs_app",
    *([] if find_spec("django.tasks") else ["django_tasks"]),  # the task API of Django 5.2
]
TASKS = {
    "default": {"BACKEND": "jobs_app.tasks_backend.JobsBackend", "QUEUES": []},
    "retrying": {
        "BACKEND": "jobs_app.tasks_backend.JobsBackend",
        "QUEUES": [],
        "OPTIONS": {"max_attempts": 3, "timeout": 60},
    },
}
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).resolve().parent.parent / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ROOT_URLCONF = "tests.urls"
SECRET_KEY = "for tests only"
STATIC_URL = "static/"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
