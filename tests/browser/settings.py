"""The site that the browser visits: the tests' project with static files, a strict policy and an app to operate.

BROWSER_THEME names another look of the admin, BROWSER_LANGUAGE its language.
"""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS, MIDDLEWARE

THEMES = {
    "stock": [],
    "unfold": ["unfold"],
    "jazzmin": ["jazzmin"],
}
THEME = os.environ.get("BROWSER_THEME", "stock")
TIME_ZONE = "UTC"
LANGUAGE_CODE = os.environ.get("BROWSER_LANGUAGE", "en")

ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS = [*THEMES[THEME], *INSTALLED_APPS, "django.contrib.staticfiles", "tests.browser.shop"]
MIDDLEWARE = [
    *(["tests.browser.policy.strict_policy"] if THEME == "stock" else []),  # the others do not live under it
    "django.middleware.security.SecurityMiddleware",
    *MIDDLEWARE,
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
JOBS = {
    "AUTO_RECOVER": False,  # what a killed worker leaves waits for a person
    "RECONCILE_APPLIES": (),
    "LEASE_SECONDS": 6,
    "WORKER_POLL_SECONDS": 0.2,
    "SCHEDULER_POLL_SECONDS": 2,
    "GRACE_SECONDS": 2,
}
LOGGING_CONFIG = None
JAZZMIN_SETTINGS = {"use_google_fonts_cdn": False}  # nothing from elsewhere
