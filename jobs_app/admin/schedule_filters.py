"""The filter of the list of schedules in an address, and back: what is acted upon is what the list shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin.acts import ActForm
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle.schedule_filter import (
    ACTIVE,
    DISABLED,
    DONE,
    FAILING,
    OVERDUE,
    PAUSED,
    RETIRED,
    ScheduleFilter,
)
from jobs_app.models import Origin
from jobs_app.values import UNSTORABLE

PARAMETERS = {name: name for name in ("job_type", "subject", "state", "origin", "trouble")} | {"q": "search"}
LABELS = {
    "job_type": gettext_lazy("Job type"),
    "subject": gettext_lazy("Subject"),
    "state": gettext_lazy("State"),
    "origin": gettext_lazy("Origin"),
    "trouble": gettext_lazy("Trouble"),
    "search": gettext_lazy("Search"),
}
STATE_TEXTS = {
    ACTIVE: gettext_lazy("active"),
    PAUSED: gettext_lazy("paused"),
    DISABLED: gettext_lazy("switched off"),
    RETIRED: gettext_lazy("retired"),
    DONE: gettext_lazy("done"),
}
TROUBLE_TEXTS = {OVERDUE: gettext_lazy("overdue"), FAILING: gettext_lazy("failing")}
ORIGIN_TEXTS: dict[str, Any] = {
    Origin.CODE: gettext_lazy("code"),
    Origin.SOURCE: gettext_lazy("source"),
    Origin.ADMIN: gettext_lazy("admin"),
}
LONGEST = 500  # more than any name has; a database refuses patterns without end
STATE_KINDS = {ACTIVE: "ok", PAUSED: "warn", DISABLED: "bad", RETIRED: "idle", DONE: "idle"}


class MatchingForm(ActForm):
    """The filter goes with the form, so that what is posted says by itself what is meant."""

    job_type = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)
    subject = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)
    state = forms.CharField(required=False, widget=forms.HiddenInput)
    origin = forms.CharField(required=False, widget=forms.HiddenInput)
    trouble = forms.CharField(required=False, widget=forms.HiddenInput)
    q = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)


def read_filter(given: Mapping[str, Any]) -> ScheduleFilter:
    """OptionInvalid for what cannot be meant: left out, it would mean more schedules than anybody asked for."""
    found = {name: str(given.get(parameter) or "") for parameter, name in PARAMETERS.items()}
    for name, value in found.items():
        if len(value) > LONGEST or UNSTORABLE.search(value):
            raise OptionInvalid(
                _("%(name)s has characters that no schedule has, or too many.") % {"name": LABELS[name]}
            )
    search = found.pop("search")
    return ScheduleFilter(**{name: value or None for name, value in found.items()}, search=search)


def query_of(wanted: ScheduleFilter) -> dict[str, str]:
    """As it stands in an address."""
    return {parameter: wanted.given[name] for parameter, name in PARAMETERS.items() if name in wanted.given}


def told(wanted: ScheduleFilter) -> list[tuple[str, str]]:
    """What is asked for, in words."""
    words = {"state": STATE_TEXTS, "origin": dict(Origin.choices), "trouble": TROUBLE_TEXTS}
    return [
        (str(LABELS[name]), str(words[name][value] if name in words else value)) for name, value in wanted.given.items()
    ]
