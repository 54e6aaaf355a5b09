"""The form of a schedule: what is typed becomes the options of `control`, and only what differs from before is sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app import cron
from jobs_app.admin.acts import ActForm
from jobs_app.admin.documents import json_to_type
from jobs_app.admin.durations import DurationField, seconds_or_text, typed_as
from jobs_app.errors import JobsError, PayloadInvalid
from jobs_app.models import CatchUp, Overlap, ScheduleState
from jobs_app.redaction import HIDDEN, is_secret, redact
from jobs_app.schedule_columns import COLUMNS
from jobs_app.schedule_options import MOST_PER_TURN, READERS, take
from jobs_app.strict_json import loads
from jobs_app.timetable import Timetable
from jobs_app.wall_clock import clock

EVERY, PER_HOUR, CRON, AT = "every", "per_hour", "cron", "at"
KINDS = [
    (EVERY, gettext_lazy("every so often")),
    (PER_HOUR, gettext_lazy("so many an hour")),
    (CRON, gettext_lazy("cron")),
    (AT, gettext_lazy("once")),
]
USUAL = [("", gettext_lazy("as usual for the job type"))]
# What is said besides when: options of `control` with the same names as fields.
BESIDES = ("catch_up", "catch_up_max", "catch_up_window", "spread", "jitter", "overlap")
NAMED_OPTION = re.compile(r"[:,] (\w+)=")


class ScheduleForm(ActForm):
    when: dict[str, Any]  # the options that say when, of a form that is valid
    timetable: Timetable

    kind = forms.ChoiceField(label=gettext_lazy("Comes back"), choices=KINDS, initial=EVERY)
    value = forms.CharField(
        label=gettext_lazy("When"),
        max_length=200,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy(
            "A time such as 15m or 1h; a number such as 4; a cron such as 0 9 * * mon-fri; or a moment such as "
            "2026-01-31 09:00."
        ),
    )
    timezone = forms.CharField(
        label=gettext_lazy("Time zone"),
        required=False,
        max_length=64,
        widget=forms.TextInput(attrs={"class": "vTextField", "list": "jobs-zones", "autocomplete": "off"}),
        help_text=gettext_lazy(
            "Whose clock a cron or a moment is read from. Empty: UTC for a cron, yours for a moment."
        ),
    )
    overlap = forms.ChoiceField(
        label=gettext_lazy("While one is live"), required=False, choices=[*USUAL, *Overlap.choices]
    )
    catch_up = forms.ChoiceField(
        label=gettext_lazy("Slots that were missed"), required=False, choices=[*USUAL, *CatchUp.choices]
    )
    catch_up_max = forms.IntegerField(
        label=gettext_lazy("Missed slots at once, at most"), required=False, min_value=1, max_value=MOST_PER_TURN
    )
    catch_up_window = DurationField(
        label=gettext_lazy("Missed slots that are older get no job"),
        required=False,
        help_text=gettext_lazy("A time such as 6h; empty: however old."),
    )
    spread = DurationField(
        label=gettext_lazy("Start what was missed over"),
        required=False,
        help_text=gettext_lazy("A time such as 30m; 0 starts them at once."),
    )
    jitter = DurationField(
        label=gettext_lazy("Jitter"),
        required=False,
        help_text=gettext_lazy("Each job starts at random within this time after its slot."),
    )
    payload = forms.CharField(
        label=gettext_lazy("Payload"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "cols": 60, "spellcheck": "false"}),
        help_text=gettext_lazy("JSON with the arguments of each job; empty: as usual for the job type."),
    )

    def __init__(self, *args: Any, shows_payload: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not shows_payload:
            del self.fields["payload"]

    def clean(self) -> dict[str, Any]:
        """The rule as a whole: what it says depends on its kind and its zone."""
        given = super().clean() or self.cleaned_data
        if "value" in given and "kind" in given:
            self._read("timezone", lambda: clock(given["timezone"]) if given.get("timezone") else None)
            if "timezone" not in self.errors:
                self._read("value", lambda: self._when(given["kind"], given["value"].strip(), given["timezone"]))
        return given

    def clean_payload(self) -> dict[str, Any] | None:
        typed = self.cleaned_data["payload"]
        if not typed.strip():
            return None
        try:
            payload = loads(typed)
        except PayloadInvalid as error:
            raise forms.ValidationError(str(error)) from None
        if not isinstance(payload, dict):
            raise forms.ValidationError(_('Use a JSON object, such as {"month": "2026-01"}.'))
        return payload

    def field_of(self, error: JobsError) -> str | None:
        if isinstance(error, PayloadInvalid):
            return "payload" if "payload" in self.fields else None
        named = NAMED_OPTION.search(str(error))
        option = named[1] if named else ""
        field = "value" if option in (EVERY, PER_HOUR, CRON, AT) else option
        return field if field in self.fields else None

    def _when(self, kind: str, typed: str, zone: str) -> None:
        readers: dict[str, Callable[[], dict[str, Any]]] = {
            EVERY: lambda: {EVERY: seconds_or_text(typed)},
            PER_HOUR: lambda: {PER_HOUR: _number(typed)},
            CRON: lambda: {CRON: typed, "timezone": zone or "UTC"},
            AT: lambda: {AT: _moment(typed, zone)},
        }
        self.when = readers[kind]()
        if kind == CRON:
            cron.parse(typed, zone or "UTC")  # says what is wrong in fewer words
        timetable = take({name: READERS[name](value) for name, value in self.when.items()}).timetable
        assert timetable is not None
        self.timetable = timetable

    def _read(self, field: str, read: Callable[[], object]) -> None:
        try:
            read()
        except (ValueError, OverflowError) as problem:
            text = str(problem)
            self.add_error(field, text[:1].upper() + text[1:].rstrip(".") + ".")


class AddForm(ScheduleForm):
    job_type = forms.ChoiceField(label=gettext_lazy("Job type"))
    subject = forms.CharField(
        label=gettext_lazy("Subject"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("What its jobs are about; empty: nothing in particular."),
    )
    name = forms.CharField(
        label=gettext_lazy("Name"),
        required=False,
        max_length=120,
        help_text=gettext_lazy("Needed only for a second schedule of the same job type and subject."),
    )

    field_order = ("job_type", "subject", "name", "kind", "value", "timezone")

    def __init__(self, *args: Any, job_types: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["job_type"].choices = [(name, name) for name in job_types]  # type: ignore[attr-defined]
        self.order_fields([*self.field_order, *(name for name in self.fields if name != "reason")])

    def given_options(self) -> dict[str, Any]:
        """What was said; the rest is as usual."""
        given = {name: self.cleaned_data.get(name) for name in (*BESIDES, "payload")}
        return self.when | {name: value for name, value in given.items() if value not in (None, "")}

    def field_of(self, error: JobsError) -> str | None:
        return "name" if "there is a schedule" in str(error) else super().field_of(error)


class EditForm(ScheduleForm):
    def __init__(self, *args: Any, row: ScheduleState, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.row = row

    @staticmethod
    def initial_of(row: ScheduleState) -> dict[str, Any]:
        """The row as it would be typed. Secrets are hidden, and stay as they are where nobody types others."""
        besides = {name: getattr(row, COLUMNS.get(name, name)) for name in BESIDES}
        payload = json_to_type(redact(row.payload)) if row.payload else ""
        return {**besides, "payload": payload, **_typed_when(row)}

    def changed_options(self) -> dict[str, Any]:
        """Only what differs, so that nothing is overridden that code says as well. None: as usual again."""
        changed = {} if self.timetable == self.row.timetable else dict(self.when)
        for name in BESIDES:
            value, present = self.cleaned_data.get(name), getattr(self.row, COLUMNS.get(name, name))
            value = None if value == "" else value
            if value != present:
                changed[name] = value
        return changed | self._changed_payload()

    def _changed_payload(self) -> dict[str, Any]:
        if "payload" not in self.fields:
            return {}
        typed = with_secrets_of(self.row.payload, self.cleaned_data["payload"])
        return {} if (typed or {}) == self.row.payload else {"payload": typed}


def with_secrets_of(present: Any, typed: Any) -> Any:
    """What was typed, with the secrets that were shown as hidden."""
    if isinstance(typed, list) and isinstance(present, list) and len(typed) == len(present):
        return [with_secrets_of(*pair) for pair in zip(present, typed, strict=True)]
    if not isinstance(typed, dict) or not isinstance(present, dict):
        return typed
    return {
        name: present[name]
        if value == HIDDEN and name in present and is_secret(name)
        else with_secrets_of(present.get(name), value)
        for name, value in typed.items()
    }


def _typed_when(row: ScheduleState) -> dict[str, str]:
    if row.interval_seconds is not None:
        return {"kind": EVERY, "value": typed_as(row.interval_seconds), "timezone": ""}
    if row.once_at is not None:
        return {"kind": AT, "value": timezone.localtime(row.once_at).isoformat(" "), "timezone": ""}
    return {"kind": CRON, "value": row.cron, "timezone": row.timezone}


def _number(typed: str) -> float | str:
    try:
        return float(typed)
    except ValueError:
        return typed


def _moment(typed: str, zone: str) -> datetime:
    try:
        moment = datetime.fromisoformat(typed)
    except ValueError:
        raise ValueError(_("use a date and a time, such as 2026-01-31 09:00")) from None
    if moment.utcoffset() is not None:
        return moment
    return moment.replace(tzinfo=ZoneInfo(zone) if zone else timezone.get_current_timezone())
