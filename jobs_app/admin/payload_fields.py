"""Fields of forms for single values of a payload: what a person types becomes what the schema of a job type checks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs_app import values
from jobs_app.admin.documents import json_to_type
from jobs_app.admin.durations import seconds_or_text
from jobs_app.errors import PayloadInvalid
from jobs_app.strict_json import loads

NOTHING: tuple[Any, ...] = (None, "", [])  # what a browser sends for a box that is left empty
LINES = {"rows": 4, "cols": 60, "spellcheck": "false"}


class Typed(str):
    """Text as somebody typed it, right or wrong, beside text that is a value."""


class JsonField(forms.Field):
    """Whatever JSON can say. An empty list is a value here, and so is null."""

    widget = forms.Textarea(attrs={**LINES, "class": "jobs-json"})
    what = "payload"

    def is_for(self, key: str) -> None:
        """One value of a payload, which may be a text: nobody guesses that it goes in quotes."""
        self.what = f"value of {key}"
        self.help_text = f"{self.help_text} {_('JSON: a text goes in double quotes.')}".strip()

    def clean(self, value: Any) -> Any:
        if value in NOTHING:
            if self.required:
                raise ValidationError(self.error_messages["required"], code="required")
            return None
        try:
            return loads(value, what=self.what)
        except PayloadInvalid as problem:
            raise ValidationError(f"{problem}. {_('A text goes in double quotes.')}") from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        return None if data is None else Typed(data)

    def prepare_value(self, value: Any) -> Any:
        if value is None or isinstance(value, Typed):
            return value
        return json_to_type(value)


class TextField(forms.CharField):
    """Text as it is, to the last blank; browsers have line ends of their own."""

    def __init__(self, **given: Any) -> None:
        super().__init__(strip=False, widget=forms.TextInput(attrs={"class": "vTextField"}), **given)

    def to_python(self, value: Any) -> Any:
        return _plain_ends(super().to_python(value) or "")

    def get_bound_field(self, form: forms.BaseForm, field_name: str) -> forms.BoundField:
        """In a box of many lines where it has some: one line would lose its ends."""
        bound = super().get_bound_field(form, field_name)
        if isinstance(self.widget, forms.TextInput) and "\n" in str(bound.value() or ""):
            self.widget = forms.Textarea(attrs=LINES)
        return bound


class WordField(forms.CharField):
    """What the schema reads from text: a date, a number with all its digits, an id."""

    def __init__(self, *, example: str = "", kind: str = "text", **given: Any) -> None:
        attributes = {"type": kind, "placeholder": example, "autocomplete": "off", "spellcheck": "false"}
        super().__init__(widget=forms.TextInput(attrs=attributes), **given)


class MomentField(WordField):
    """Without an offset it is by the clock of who types."""

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            moment = datetime.fromisoformat(text)
            return text if moment.utcoffset() is not None else timezone.make_aware(moment)
        except (ValueError, OverflowError):
            return text  # the schema says what is wrong with it


class LengthField(WordField):
    """Also as people write it: 90, 30s, 5m, 1h, 7d."""

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            return timedelta(seconds=values.seconds(seconds_or_text(text)))
        except (ValueError, OverflowError):
            return text


class ChoiceField(forms.TypedChoiceField):
    """One of the values that a type allows, whatever type they have themselves."""

    def __init__(self, allowed: Sequence[Any], **given: Any) -> None:
        texts = [each if isinstance(each, str) else json.dumps(each) for each in allowed]
        if len(set(texts)) < len(texts) or "" in texts:  # "1" beside 1
            texts = [json.dumps(each) for each in allowed]
        self._allowed = dict(zip(texts, allowed, strict=True))
        choices = [("", "---------"), *((text, text) for text in texts)]
        super().__init__(choices=choices, coerce=self._allowed.__getitem__, empty_value=None, **given)

    def bound_data(self, data: Any, initial: Any) -> Any:
        return None if data is None else Typed(data)

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, Typed):
            return value
        same = (text for text, each in self._allowed.items() if type(each) is type(value) and each == value)
        return next(same, value)


class LinesField(forms.CharField):
    """A list: a line for each, empty ones left out."""

    def __init__(self, item: forms.Field, **given: Any) -> None:
        super().__init__(strip=False, widget=forms.Textarea(attrs=LINES), **given)
        self.item = item

    def clean(self, value: Any) -> Any:
        lines = _plain_ends(super().clean(value)).split("\n")
        return [self.item.clean(line) for line in lines if line.strip()]

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(str(self.item.prepare_value(each)) for each in value) if isinstance(value, list) else value


def _plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
