"""The form of a maintenance window: what is typed becomes the options of `control`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin.acts import ActForm
from jobs_app.models import MaintenanceWindow
from jobs_app.registry import SYSTEM_QUEUE, registry
from jobs_app.windows import READERS, Window

DAYS = [
    (0, gettext_lazy("Monday")),
    (1, gettext_lazy("Tuesday")),
    (2, gettext_lazy("Wednesday")),
    (3, gettext_lazy("Thursday")),
    (4, gettext_lazy("Friday")),
    (5, gettext_lazy("Saturday")),
    (6, gettext_lazy("Sunday")),
]
OPTIONS = ("start", "minutes", "timezone", "days", "queues", "job_types")


class WindowForm(ActForm):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=120)
    start = forms.TimeField(
        label=gettext_lazy("Opens at"),
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        help_text=gettext_lazy("By the clocks of its time zone."),
    )
    minutes = forms.IntegerField(label=gettext_lazy("Minutes"), min_value=1, max_value=24 * 60)
    timezone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=64,
        initial="UTC",
        widget=forms.TextInput(attrs={"class": "vTextField", "list": "jobs-zones", "autocomplete": "off"}),
    )
    days = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Days on which it opens"),
        required=False,
        coerce=int,
        choices=DAYS,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("None: every day."),
    )
    queues = forms.CharField(
        label=gettext_lazy("Queues"),
        required=False,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text=gettext_lazy("Names with commas between them. With neither queues nor job types it covers all work."),
    )
    job_types = forms.MultipleChoiceField(
        label=gettext_lazy("Job types"), required=False, widget=forms.SelectMultiple(attrs={"size": 6})
    )

    def __init__(self, *args: Any, is_new: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = {each.name for each in registry if each.queue != SYSTEM_QUEUE}
        chosen = set((self.initial or {}).get("job_types") or ())
        job_types = self.fields["job_types"]
        assert isinstance(job_types, forms.MultipleChoiceField)
        job_types.choices = [(name, name) for name in sorted(known | chosen)]
        if not is_new:
            del self.fields["name"]

    def clean_queues(self) -> list[str]:
        return [name.strip() for name in self.cleaned_data["queues"].split(",") if name.strip()]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        for name in [name for name in OPTIONS if name in given]:
            try:
                READERS[name](given[name])
            except ValueError as problem:
                self.add_error(name, _("It cannot be used: %(problem)s.") % {"problem": problem})
        return given

    @property
    def options(self) -> dict[str, Any]:
        """As `control.add_window` takes them."""
        return {name: self.cleaned_data[name] for name in OPTIONS}

    def window(self, name: str) -> Window:
        return Window(name=name, **{option: READERS[option](value) for option, value in self.options.items()})


def initial_of(row: MaintenanceWindow) -> Mapping[str, Any]:
    """What the form begins with; a row that somebody else wrote may hold anything."""
    queues = row.queues if isinstance(row.queues, list) else []
    return {
        "start": row.start,
        "minutes": row.minutes,
        "timezone": row.timezone,
        "days": row.days if isinstance(row.days, list) else [],
        "queues": ", ".join(map(str, queues)),
        "job_types": [str(each) for each in row.job_types] if isinstance(row.job_types, list) else [],
    }
