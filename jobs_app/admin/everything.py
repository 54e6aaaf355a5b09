"""The switch for everything: behind the dashboard, with a permission of its own and a reason."""

from __future__ import annotations

from jobs_app.admin.pausing import pause_pages
from jobs_app.models import Scope

PAGES = pause_pages(Scope.ALL, "dashboard")
