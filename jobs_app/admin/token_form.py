"""The form of an API token: what is typed becomes the options of `control`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin.acts import ActForm
from jobs_app.admin.forms import moment_input
from jobs_app.lifecycle.control.token_options import READERS, unregistered

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

SCOPES = [
    ("pull", gettext_lazy("pull: take jobs, as a remote worker")),
    ("report", gettext_lazy("report: tell how the jobs go on that it took")),
    ("trigger", gettext_lazy("trigger: start jobs")),
    ("read", gettext_lazy("read: see runs, queues, schedules and workers")),
    ("operate", gettext_lazy("operate: what operators do, such as cancel, retry and pause")),
    ("metrics", gettext_lazy("metrics: read /metrics, as Prometheus does")),
]
NEVER, GIVEN = "", "given"
LENGTHS = {"30d": timedelta(days=30), "90d": timedelta(days=90), "365d": timedelta(days=365)}
NAMES = gettext_lazy("Names, or patterns such as mail.*, with commas between them. Empty: all.")
TEXT = {"class": "vTextField", "autocomplete": "off"}
MOST_CHARACTERS = 4000  # of names, in one box


def _names_field(label: StrOrPromise) -> forms.CharField:
    widget = forms.TextInput(attrs=TEXT)
    return forms.CharField(label=label, required=False, max_length=MOST_CHARACTERS, widget=widget, help_text=NAMES)


class TokenForm(ActForm):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=120,
        widget=forms.TextInput(attrs=TEXT),
        help_text=gettext_lazy("Who will use it, and from where."),
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("What it may do"), choices=SCOPES, widget=forms.CheckboxSelectMultiple
    )
    queues = _names_field(gettext_lazy("Queues"))
    job_types = _names_field(gettext_lazy("Job types"))
    expires = forms.ChoiceField(
        label=gettext_lazy("Expires"),
        required=False,
        initial="90d",
        choices=[
            ("30d", gettext_lazy("30 days from now")),
            ("90d", gettext_lazy("90 days from now")),
            ("365d", gettext_lazy("a year from now")),
            (GIVEN, gettext_lazy("at the time below")),
            (NEVER, gettext_lazy("never, until somebody revokes it")),
        ],
    )
    expires_at = forms.DateTimeField(
        label=gettext_lazy("At this time"),
        required=False,
        widget=moment_input(),
        help_text=gettext_lazy("In your time zone."),
    )

    def clean_name(self) -> Any:
        return self._read("name", self.cleaned_data["name"])

    def clean_queues(self) -> Any:
        return self._read("queues", _split(self.cleaned_data["queues"]))

    def clean_job_types(self) -> Any:
        given = self._read("job_types", _split(self.cleaned_data["job_types"]))
        if problem := unregistered(given):
            raise forms.ValidationError(problem[0].upper() + problem[1:])
        return given

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        at, chosen = given.get("expires_at"), given.get("expires")
        if chosen == GIVEN and at is None and "expires_at" not in self.errors:
            self.add_error("expires_at", _("Say when it expires."))
        elif at is not None and chosen != GIVEN:
            self.add_error("expires_at", _("There are two ends now. Leave this empty, or choose “at the time below”."))
        elif at is not None and at <= timezone.now():
            self.add_error("expires_at", _("This time has passed already."))
        return given

    def options(self, now: datetime) -> dict[str, Any]:
        """As `control.create_token` takes them."""
        chosen = self.cleaned_data["expires"]
        end = now + LENGTHS[chosen] if chosen in LENGTHS else self.cleaned_data["expires_at"]
        return {name: self.cleaned_data[name] for name in ("scopes", "queues", "job_types")} | {"expires_at": end}

    def _read(self, name: str, value: Any) -> Any:
        try:
            return READERS[name](value)
        except ValueError as problem:
            raise forms.ValidationError(_("It cannot be used: %(problem)s.") % {"problem": problem}) from None


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
