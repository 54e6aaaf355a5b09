"""The app as Django sees it: finds the project's jobs at start, starts nothing, touches no database."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

from django.apps import AppConfig
from django.conf import settings
from django.core.management import ManagementUtility
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _

from jobs_app.conf import get_settings
from jobs_app.errors import SettingsInvalid


class JobsConfig(AppConfig):
    name = "jobs_app"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = _("Jobs")

    def ready(self) -> None:
        from jobs_app.checks import addresses, commands, databases, server  # noqa: F401
        from jobs_app.checks import settings as setting_checks  # noqa: F401
        from jobs_app.scheduler import checks as schedule_checks  # noqa: F401
        from jobs_app.tasks_backend import checks as task_checks  # noqa: F401
        from jobs_app.tasks_backend import discovery
        from jobs_app.webhooks import checks as webhook_checks  # noqa: F401

        if is_left_to_checks():
            return
        from jobs_app import chores, eager, mailing  # noqa: F401
        from jobs_app.metrics import gauges
        from jobs_app.webhooks import delivery  # noqa: F401

        eager.listen()
        gauges.register()
        module_name = get_settings().autodiscover
        if module_name:
            autodiscover_modules(module_name)
            import_project_module(module_name)
        discovery.discover(project_packages())


def is_left_to_checks() -> bool:
    """Are the settings so wrong that nothing can start, in a process where checks will say so?

    A management command runs them before it does anything, and they tell better than a traceback. A web server runs
    none: it must not start at all.
    """
    try:
        get_settings()
    except SettingsInvalid:
        if not is_command():
            raise
        return True
    return False


def is_command() -> bool:
    """Is the start that goes on here that of a management command? Django itself keeps no note of it."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code is ManagementUtility.execute.__code__:
            return True
    return False


def import_project_module(module_name: str) -> None:
    """Import `jobs` of the project package, which need not be an installed app."""
    for package in project_packages():
        path = f"{package}.{module_name}"
        if find_spec(path) is not None:
            import_module(path)


def project_packages() -> list[str]:
    """The packages around the root URLconf and the settings module, outermost last, each once."""
    found: dict[str, None] = {}
    for module in (getattr(settings, "ROOT_URLCONF", None), settings.SETTINGS_MODULE):
        package = str(module or "").rpartition(".")[0]
        while package:
            found[package] = None
            package = package.rpartition(".")[0]
    return list(found)
