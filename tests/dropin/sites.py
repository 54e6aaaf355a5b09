"""Fresh projects, as `startproject` makes them: one with the single line that the app needs, one with a mind of its
own."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.dropin.environments import Environment

HERE = Path(__file__).parent
PAGE = (HERE.parent.parent / "docs" / "installation.md").read_text()
LAST_APP = "    'django.contrib.staticfiles',\n"
LINE = "    'jobs_app',\n"
JOBS = """
from jobs_app import current_job, job


@job(subject="name")
def greet(name: str, loud: bool = False) -> str:
    current_job().log(f"greeting {name}")
    return f"Hello {name}"
"""
ELABORATE = """
DEBUG = False
ALLOWED_HOSTS = ["localhost"]
INSTALLED_APPS[INSTALLED_APPS.index("django.contrib.admin")] = "house.admin_app.HouseAdminConfig"
INSTALLED_APPS.append("house")
AUTH_USER_MODEL = "house.Account"
DATABASE_ROUTERS = ["house.routers.JobsRouter"]
JOBS = {"DATABASE": "jobs"}
ROOT_URLCONF = "house.urls"
TIME_ZONE = "Europe/Paris"
STATIC_ROOT = BASE_DIR / "static-root"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"},
}
"""
POLICY = {
    "5.2": 'MIDDLEWARE.append("house.policy.strict_policy")\n',
    "6.1": """MIDDLEWARE.append("django.middleware.csp.ContentSecurityPolicyMiddleware")
SECURE_CSP = {"default-src": ["'self'"]}
""",
}


@dataclass(frozen=True)
class Site:
    folder: Path
    environment: Environment

    def probe(self, phase: str, *arguments: str) -> dict[str, Any]:
        """What happens inside it."""
        done = self.environment.run("probe.py", phase, *arguments, cwd=self.folder)
        return json.loads(done.stdout.splitlines()[-1])

    def manage(self, *arguments: str) -> str:
        return self.environment.run("manage.py", *arguments, cwd=self.folder).stdout

    def remove_the_line(self) -> None:
        settings = self.folder / "shop" / "settings.py"
        settings.write_text(settings.read_text().replace(LINE, ""))


def plain_site(folder: Path, environment: Environment, databases: Mapping[str, Any]) -> Site:
    """With one line more than `startproject` wrote, and a database where that is not the SQLite file of its own."""
    site = _start(folder, environment)
    _append(site, f"DATABASES = {databases!r}\n" if databases else "")
    return site


def elaborate_site(folder: Path, environment: Environment, databases: Mapping[str, Any]) -> Site:
    """With users, admin sites, databases, a policy and static files in other ways than Django's own."""
    site = _start(folder, environment)
    shutil.copytree(HERE / "house", folder / "house", ignore=shutil.ignore_patterns("__pycache__"))
    [router] = re.findall(r"^class JobsRouter:\n.*?^(?=```)", PAGE, re.DOTALL | re.MULTILINE)
    (folder / "house" / "routers.py").write_text(router)  # the one that people are told to write
    _append(site, f"DATABASES = {databases!r}\n{ELABORATE}{POLICY[environment.django]}")
    return site


def _start(folder: Path, environment: Environment) -> Site:
    folder.mkdir(parents=True)
    environment.run("-m", "django", "startproject", "shop", str(folder), cwd=folder)
    settings = folder / "shop" / "settings.py"
    text = settings.read_text()
    assert text.count(LAST_APP) == 1, text
    settings.write_text(text.replace(LAST_APP, LAST_APP + LINE))
    (folder / "shop" / "jobs.py").write_text(JOBS)
    shutil.copy(HERE / "probe.py", folder)
    return Site(folder, environment)


def _append(site: Site, text: str) -> None:
    with (site.folder / "shop" / "settings.py").open("a") as settings:
        settings.write(f"\n{text}")
