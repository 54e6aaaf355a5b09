"""Links from pages of the host into these: what is done for the customer whose page somebody reads."""

from __future__ import annotations

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

NOTHING = "-"


def subject_jobs_link(subject: str, *, label: str = "", site: str = "admin") -> SafeString | str:
    """A link to all that waits, runs and ran for a subject, for a column or a field of a `ModelAdmin` of yours.

    `site` is the name of the AdminSite that has the pages. Whoever follows it needs the permission to see them.
    """
    if not subject:
        return NOTHING
    address = reverse("admin:jobs_app_subject_detail", args=[subject], current_app=site)
    return format_html('<a href="{}">{}</a>', address, label or _("Jobs"))
