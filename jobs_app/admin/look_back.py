"""How far back a list looks, in words."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

WINDOW_TEXTS = {
    "1h": gettext_lazy("the last hour"),
    "24h": gettext_lazy("the last 24 hours"),
    "7d": gettext_lazy("the last 7 days"),
    "30d": gettext_lazy("the last 30 days"),
    "all": gettext_lazy("any time"),
}
