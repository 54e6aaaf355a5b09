"""A form made from the payload schema of a job type. The schema has the last word, field by field."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from jobs_app.admin.docstrings import about_arguments
from jobs_app.admin.forms import ActForm
from jobs_app.admin.payload_drawing import LEFT_OUT, Drawn, draw
from jobs_app.admin.payload_fields import JsonField
from jobs_app.errors import PayloadInvalid
from jobs_app.redaction import HIDDEN, is_secret, redact
from jobs_app.registry import JobType

WHOLE = "payload"  # the one box of JSON
PREFIX = "payload-"  # so that a payload may have a field `reason`


class PayloadForm(ActForm):
    """One field for each of the payload, or with `as_json` one box for all of it.

    `stored` is the payload of a run that is filled in. Secrets are not shown, and must be typed again.
    """

    def __init__(
        self,
        *args: Any,
        job_type: JobType,
        stored: Mapping[str, Any] | None = None,
        as_json: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.job_type = job_type
        self.drawn = [] if as_json else drawn_for(job_type)
        others = [name for name in self.fields if name != "reason"]
        if as_json:
            self._ask_for_all(stored)
        for each in self.drawn:
            self.fields[PREFIX + each.name] = each.field
            self._fill(each, stored)
        self.order_fields([name for name in self.fields if name not in others and name != "reason"] + others)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                given["payload"] = self.job_type.schema.dump(self._typed())
            except PayloadInvalid as problem:
                self._mark(problem)
        return given

    @property
    def payload(self) -> dict[str, Any]:
        """As it will be stored."""
        stored: dict[str, Any] = self.cleaned_data["payload"]
        return stored

    @property
    def payload_fields(self) -> list[Any]:
        return [self[name] for name in self.fields if name == WHOLE or name.startswith(PREFIX)]

    @property
    def other_fields(self) -> list[Any]:
        return [self[name] for name in self.fields if name != WHOLE and not name.startswith(PREFIX)]

    def _ask_for_all(self, stored: Mapping[str, Any] | None) -> None:
        field = JsonField(label=_("Payload"), required=False, help_text=_("A JSON object."))
        field.initial = redact(dict(skeleton(self.job_type) if stored is None else stored))
        field.widget.attrs["rows"] = 12
        self.fields[WHOLE] = field

    def _fill(self, each: Drawn, stored: Mapping[str, Any] | None) -> None:
        if stored is None or each.name not in stored:
            return
        if each.is_secret:
            each.field.required = True
            each.field.help_text = _("It is not shown. Type it again.")
        else:
            each.field.initial = redact(stored[each.name])

    def _typed(self) -> dict[str, Any]:
        """The payload as it was filled in, before the schema has seen it."""
        if not self.drawn and WHOLE in self.fields:
            typed = self.cleaned_data.get(WHOLE)
            typed = {} if typed is None else typed
        else:
            given = ((each.name, each.value(self._posted(each), self._cleaned(each))) for each in self.drawn)
            typed = {name: value for name, value in given if value is not LEFT_OUT}
        if (path := hidden_in(typed)) is not None:
            name, *_rest = path
            text = _("%(name)s is not shown here. Type it again.") % {"name": ".".join(path)}
            raise PayloadInvalid(text, {name: text})
        return typed

    def _posted(self, each: Drawn) -> Any:
        return self[PREFIX + each.name].data

    def _cleaned(self, each: Drawn) -> Any:
        return self.cleaned_data.get(PREFIX + each.name)

    def _mark(self, problem: PayloadInvalid) -> None:
        """Each fault at its field; of a value within a value, at the outer one."""
        for path, text in (problem.errors or {"": str(problem)}).items():
            name = PREFIX + str(path).split(".")[0]
            if name in self.fields:
                self.add_error(name, text)
            else:
                place = WHOLE if WHOLE in self.fields else None
                self.add_error(place, f"{path}: {text}" if path else text)


def drawn_for(job_type: JobType) -> list[Drawn]:
    told = about_arguments(job_type.function)
    return [
        draw(each, key=each.alias or each.name, help_text=each.help or told.get(each.name, ""))
        for each in job_type.schema.fields
    ]


def can_be_drawn(job_type: JobType) -> bool:
    """Not if it takes names that nobody knows beforehand and no others."""
    return bool(job_type.schema.fields) or not _takes_any_name(job_type)


def can_show(job_type: JobType, stored: Mapping[str, Any]) -> bool:
    """Would this payload come back as it is from the form, if nobody changes anything? Else JSON does it justice."""
    drawn = {each.name: each for each in drawn_for(job_type)}
    return all(
        name in drawn and (drawn[name].is_secret or drawn[name].shows(redact(value))) for name, value in stored.items()
    )


def skeleton(job_type: JobType) -> dict[str, Any]:
    """What a payload of this type may look like: defaults, and null where something must be filled in."""
    return {each.name: None if each.default is LEFT_OUT else each.default for each in drawn_for(job_type)}


def hidden_in(value: Any, path: tuple[str, ...] = ()) -> tuple[str, ...] | None:
    """Where the sign for a hidden secret stands in place of the secret."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        here = (*path, str(name))
        if each == HIDDEN and is_secret(str(name)):
            return here
        if (found := hidden_in(each, here)) is not None:
            return found
    return None


def _takes_any_name(job_type: JobType) -> bool:
    parameters = inspect.signature(job_type.function).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
