"""Lengths of time as people type them: 30s, 5m, 1h, 7d, or plain seconds."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from jobs_app import values

UNITS = (("d", 86400), ("h", 3600), ("m", 60))


class DurationField(forms.CharField):
    """Seconds, or None where nothing was typed."""

    def to_python(self, value: Any) -> Any:
        typed = super().to_python(value)
        if not typed:
            return None
        try:
            return values.seconds(seconds_or_text(typed))
        except ValueError:
            raise ValidationError(_("Use a time such as 30s, 5m, 1h or 7d, of 100 years at most.")) from None

    def prepare_value(self, value: Any) -> Any:
        return typed_as(value) if isinstance(value, int | float) else value


def seconds_or_text(typed: str) -> float | str:
    try:
        return float(typed)
    except ValueError:
        return typed.strip()


def typed_as(seconds: float) -> str:
    """The largest unit that says it as a whole: 90m, not 1.5h."""
    for letter, size in UNITS:
        if seconds >= size and seconds % size == 0:
            return f"{int(seconds // size)}{letter}"
    return f"{seconds:.15g}s"
