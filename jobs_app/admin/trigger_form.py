"""What is asked for one run: its payload, what it is about, when, how urgent, and under which key."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin import words
from jobs_app.admin.durations import DurationField
from jobs_app.admin.payload_forms import PayloadForm
from jobs_app.drafts import Drafts
from jobs_app.errors import JobsError
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.models import Run
from jobs_app.options import read_enqueue
from jobs_app.registry import JobType

NOW, AT, DELAY = "now", "at", "delay"
MOST_PRIORITY = 100
LONGEST = 200
PLAIN = {"class": "vTextField", "autocomplete": "off", "spellcheck": "false"}


class TriggerForm(PayloadForm):
    subject = forms.CharField(
        label=gettext_lazy("Subject"),
        required=False,
        max_length=LONGEST,
        widget=forms.TextInput(attrs={**PLAIN, "list": "jobs-subjects"}),
        help_text=gettext_lazy("What it is about, such as a customer."),
    )
    when = forms.ChoiceField(
        label=gettext_lazy("When"),
        required=False,
        choices=[
            (NOW, gettext_lazy("as soon as possible")),
            (AT, gettext_lazy("not before the time below")),
            (DELAY, gettext_lazy("after the delay below")),
        ],
    )
    run_at = forms.DateTimeField(
        label=gettext_lazy("Not before"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": 1}, format="%Y-%m-%dT%H:%M:%S"),
        help_text=gettext_lazy("In your time zone."),
    )
    delay = DurationField(
        label=gettext_lazy("Delay"),
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "30s, 5m, 1h, 7d", "autocomplete": "off"}),
    )
    priority = forms.IntegerField(
        label=gettext_lazy("Priority"),
        required=False,
        min_value=-MOST_PRIORITY,
        max_value=MOST_PRIORITY,
        help_text=gettext_lazy("From -100 to 100, higher is sooner."),
    )
    key = forms.CharField(
        label=gettext_lazy("Key"),
        required=False,
        max_length=LONGEST,
        widget=forms.TextInput(attrs=PLAIN),
        help_text=gettext_lazy("Jobs with the same key are subject to the policy together."),
    )
    idempotency_key = forms.CharField(
        label=gettext_lazy("Idempotency key"),
        required=False,
        max_length=LONGEST,
        widget=forms.TextInput(attrs=PLAIN),
        help_text=gettext_lazy("If it was used before, you get that run and no new one."),
    )

    draft: NewJob  # of a valid form: what would be stored

    def __init__(self, *args: Any, job_type: JobType, **kwargs: Any) -> None:
        super().__init__(*args, job_type=job_type, **kwargs)
        self.fields["priority"].widget.attrs["placeholder"] = job_type.priority
        told = _("Policy: %(words)s.") % {"words": words.policy(job_type)}
        self.fields["key"].help_text = f"{self.fields['key'].help_text} {told}"
        for option in ("subject", "key"):
            self._say_where_from(option, getattr(job_type, option))

    @property
    def options(self) -> dict[str, Any]:
        """Those of an enqueue, as far as they were given."""
        given = self.cleaned_data
        found = {name: given[name] for name in ("subject", "key", "idempotency_key") if given.get(name)}
        if given.get("priority") is not None:
            found["priority"] = given["priority"]
        if given.get("when") == AT:
            found["run_at"] = given["run_at"]
        if given.get("when") == DELAY:
            found["delay"] = given["delay"]
        return found

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        self._require_when(given)
        if not self.errors:
            where = f"job {self.job_type.name!r}"
            try:
                self.draft, _payload = Drafts(self.job_type, read_enqueue(self.options, where)).draft(self.payload)
            except JobsError as problem:
                self.add_error(None, str(problem))
        return given

    def repeats(self, run: Run) -> bool:
        """Is it the same work as that of the run, now, but for the values of its payload?"""
        given = self.cleaned_data
        is_plain = given["when"] in ("", NOW) and not given["idempotency_key"]
        same = (self.draft.subject, self.draft.key, self.draft.priority) == (run.subject, run.key, run.priority)
        return is_plain and same

    def _require_when(self, given: dict[str, Any]) -> None:
        """A time that is not the chosen one is a slip, and would be found out too late."""
        when = given.get("when") or NOW
        for name, choice in (("run_at", AT), ("delay", DELAY)):
            if name in self.errors:
                continue
            if when == choice and given.get(name) is None:
                self.add_error(name, _("Say when."))
            elif when != choice and given.get(name) is not None:
                self.add_error(name, _("Choose above that this counts, or leave it empty."))
        if when == AT and given.get("run_at") and given["run_at"] <= timezone.now():
            self.add_error("run_at", _("This time has passed already."))

    def _say_where_from(self, option: str, source: Any) -> None:
        if source is not None:
            field = self.fields[option]
            told = _("Taken from the payload") if callable(source) else _("Taken from %(field)s") % {"field": source}
            field.help_text = f"{field.help_text} {told}{_(', unless you give one.')}"
