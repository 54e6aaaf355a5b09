"""The Django project of the web processes that remote workers are measured against."""

from __future__ import annotations

from benchmarks.settings import *  # noqa: F403

ROOT_URLCONF = "benchmarks.http_site"
ALLOWED_HOSTS = ["127.0.0.1"]
JOBS = {
    "API_REQUESTS_PER_MINUTE": 0,  # the rate is what is measured
    "API_MAX_WAITING": 1000,  # threads are what limits it here
}
