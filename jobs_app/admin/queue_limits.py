"""The limits of a queue as a form: those in force, beside what the settings say."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app import durations, limits
from jobs_app.admin import words
from jobs_app.admin.acts import ActForm
from jobs_app.admin.durations import DurationField
from jobs_app.limits import MOST, NO_RULES, QueueRules

LABELS = {
    "concurrency": gettext_lazy("Running at most"),
    "concurrency_per_key": gettext_lazy("Running at most per key"),
    "concurrency_per_process": gettext_lazy("Running at most per process"),
    "rate": gettext_lazy("Starts at most"),
    "rate_per_key": gettext_lazy("Starts at most per key"),
    "fair_share": gettext_lazy("Fair share between subjects"),
    "ageing": gettext_lazy("Waiting that raises the priority by one"),
}
UNITS = {
    "concurrency": gettext_lazy("Jobs, over all workers. Empty: no limit."),
    "concurrency_per_key": gettext_lazy("Jobs with the same key, over all workers. Empty: no limit."),
    "concurrency_per_process": gettext_lazy("Jobs in each worker process. Empty: no limit."),
    "rate": gettext_lazy("As 10/minute or 5/30s. Empty: no limit."),
    "rate_per_key": gettext_lazy("As 10/minute or 5/30s, for each key. Empty: no limit."),
    "fair_share": gettext_lazy("Subjects take turns."),
    "ageing": gettext_lazy("As 30s, 5m or 1h. Empty: priorities stay as they are."),
}


class RateField(forms.CharField):
    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            return limits.rate(text) if text else None
        except ValueError as problem:
            raise ValidationError(str(problem)) from None


def _count() -> forms.Field:
    return forms.IntegerField(required=False, min_value=1, max_value=MOST)


class LimitForm(ActForm):
    """Shows what is in force; only what is changed is set."""

    concurrency = _count()
    concurrency_per_key = _count()
    concurrency_per_process = _count()
    rate = RateField(required=False)
    rate_per_key = RateField(required=False)
    fair_share = forms.BooleanField(required=False)
    ageing = DurationField(required=False)

    def __init__(self, *args: Any, rules: QueueRules, declared: QueueRules, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rules = rules
        for name, label in LABELS.items():
            field = self.fields[name]
            said = _("In settings: %(value)s.") % {"value": in_words(name, getattr(declared, name))}
            field.label, field.help_text = label, f"{UNITS[name]} {said}"
            field.initial = as_typed(name, getattr(rules, name))

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if not self.errors and not self.changes:
            self.add_error(None, _("Nothing is changed yet."))
        return given

    @property
    def changes(self) -> dict[str, Any]:
        """By the names of the settings; None lifts a limit."""
        return {
            name: self.cleaned_data[name] for name in LABELS if self.cleaned_data[name] != getattr(self.rules, name)
        }


def as_typed(name: str, value: Any) -> Any:
    return words.rate(value) if name in ("rate", "rate_per_key") else value


def in_words(name: str, value: Any) -> str:
    if name == "fair_share":
        return _("yes") if value else _("no")
    if value is None:
        return _("no limit") if name != "ageing" else _("none")
    return durations.exact(value) if name == "ageing" else str(as_typed(name, value))


def table(rules: QueueRules, declared: QueueRules) -> list[dict[str, Any]]:
    """Each limit that somebody has set, with what the settings say beside it."""
    return [
        {
            "label": label,
            "value": in_words(name, getattr(rules, name)),
            "declared": in_words(name, getattr(declared, name)),
            "differs": getattr(rules, name) != getattr(declared, name),
        }
        for name, label in LABELS.items()
        if any(getattr(each, name) != getattr(NO_RULES, name) for each in (rules, declared))
    ]
