"""The demo site. Every knob comes from the environment; without any it runs on SQLite."""

from __future__ import annotations

import secrets
from pathlib import Path

import environ

from jobs_app.logs import FORMAT
from jobsite.database import database_from_url
from jobsite.environment import examples_from, jobs_from

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

DEBUG = env.bool("DEBUG", default=False)
# Only the web needs one, and asks for it (`secret_key.py`): workers, schedulers and commands run without.
SECRET_KEY = env.str("SECRET_KEY", default=secrets.token_urlsafe(50) if DEBUG else "")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[])

DATABASES = {"default": database_from_url(env.str("DATABASE_URL", default=f"sqlite:///{BASE_DIR / 'db.sqlite3'}"))}

JOBS = {"SCHEDULER_POLL_SECONDS": 5.0, "METRICS_PUBLIC": DEBUG, **jobs_from(env)}

EXAMPLES = examples_from(env)
EXAMPLES_MINUTE_SECONDS = env.float("EXAMPLES_MINUTE_SECONDS", default=2.0 if DEBUG else 60.0)  # examples/pace.py

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "jobs_app",
    *(f"examples.{name}" for name in EXAMPLES),
    "jobsite",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
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
ROOT_URLCONF = "jobsite.urls"
WSGI_APPLICATION = "jobsite.wsgi.application"
ASGI_APPLICATION = "jobsite.asgi.application"

vars().update(env.email_url("EMAIL_URL", default="consolemail://"))  # or smtp://user:password@host:port
EMAIL_TIMEOUT = env.float("EMAIL_TIMEOUT", default=30.0)  # seconds; a silent server keeps no thread for ever

LANGUAGE_CODE = "en"
TIME_ZONE = env.str("TIME_ZONE", default="UTC")
USE_TZ = True
STATIC_URL = "static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"jobs": {"()": "jobs_app.logs.JobFilter"}},
    "formatters": {"line": {"class": "jobs_app.logs.OneLineFormatter", "format": FORMAT}},
    "handlers": {"console": {"class": "logging.StreamHandler", "filters": ["jobs"], "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="info").upper()},
    "loggers": {"django.server": {"level": "WARNING"}},  # the landing page asks anew every few seconds
}
