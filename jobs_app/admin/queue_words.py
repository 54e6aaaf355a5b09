"""The state of a queue as people see it, on every page."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from jobs_app.insights.queue_states import ACTIVE, BEHIND, GROWING, IDLE, PAUSED, UNSERVED

BADGES = {
    PAUSED: ("warn", gettext_lazy("paused")),
    UNSERVED: ("bad", gettext_lazy("no worker")),
    BEHIND: ("bad", gettext_lazy("behind")),
    GROWING: ("warn", gettext_lazy("growing")),
    ACTIVE: ("ok", gettext_lazy("active")),
    IDLE: ("idle", gettext_lazy("idle")),
}
