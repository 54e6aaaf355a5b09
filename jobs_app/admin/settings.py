"""Settings: what is in force, what operators changed of it, and the pages on which they do."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django import forms
from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin import setting_words as words
from jobs_app.admin.acts import ActForm, act
from jobs_app.admin.durations import DurationField
from jobs_app.admin.pages import Page
from jobs_app.admin.visits import Visit
from jobs_app.conf import with_overrides
from jobs_app.errors import OptionInvalid, SettingsInvalid
from jobs_app.insights.settings import KnobState, knob_states, set_in_code
from jobs_app.knobs import Knob
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control.settings import checked
from jobs_app.lifecycle.database import database_now

BACK = "runtimesetting_changelist"


class SettingForm(ActForm):
    """One value, by the kind of its knob."""

    def __init__(self, *args: Any, knob: Knob, **kwargs: Any) -> None:
        self.knob = knob
        super().__init__(*args, **kwargs)
        self.fields["value"] = _field(knob)
        self.order_fields(["value", "reason"])

    @property
    def value(self) -> Any:
        return self.cleaned_data["value"]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if "value" in given:
            try:
                checked(self.knob, given["value"])
            except OptionInvalid as problem:
                self.add_error("value", str(problem))
        return given


def _field(knob: Knob) -> forms.Field:
    given: dict[str, Any] = {"label": knob.setting, "help_text": words.bounds(knob)}
    if knob.kind == "flag":
        return forms.BooleanField(required=False, **given)
    if knob.kind == "kinds":
        choices = [(each, each) for each in knob.choices]
        return forms.MultipleChoiceField(required=False, choices=choices, widget=forms.CheckboxSelectMultiple, **given)
    if knob.kind == "seconds":
        given["help_text"] += " " + _("As 30s, 5m, 1h or 7d.")
        return DurationField(required=not knob.may_be_none, **given)
    if knob.kind == "whole":
        return forms.IntegerField(min_value=int(knob.low), max_value=int(knob.high), **given)
    return forms.FloatField(min_value=knob.low, max_value=knob.high, **given)


def _listing(visit: Visit) -> HttpResponseBase:
    states = visit.read(lambda: knob_states(visit.connection)) or []
    lines = [(each, _told(each)) for each in states]
    groups = [(group, list(rest)) for group, rest in groupby(lines, lambda line: line[0].knob.group)]
    return visit.render("settings.html", _("Settings"), groups=groups, fixed=set_in_code())


def _told(state: KnobState) -> dict[str, str]:
    knob = state.knob
    told = {"value": words.shown(knob, state.value), "in_code": words.shown(knob, state.in_code)}
    return told | {"range": words.bounds(knob)}


def _edit(visit: Visit, name: str) -> HttpResponseBase:
    states, state = _find(visit, name)
    knob = state.knob
    return act(
        visit,
        title=_("Change %(name)s") % {"name": knob.setting},
        form=SettingForm,
        form_arguments={"knob": knob},
        initial={"value": list(state.value) if knob.kind == "kinds" else state.value},
        preview=lambda form: _preview(visit, knob, states, form.value),
        perform=lambda form: control.change_setting(name, form.value, visit.user, form.reason_given),
        back=visit.url(BACK),
        done=_("setting changed"),
        target=knob.setting,
        template="setting.html",
        facts=_facts(state),
        about=knob.help,
        crumbs=[(visit.url(BACK), _("Settings"))],
    )


def _reset(visit: Visit, name: str) -> HttpResponseBase:
    states, state = _find(visit, name)
    return act(
        visit,
        title=_("Reset %(name)s") % {"name": state.knob.setting},
        perform=lambda form: control.reset_setting(name, visit.user, form.reason_given),
        back=visit.url(BACK),
        done=_("setting reset"),
        target=state.knob.setting,
        template="setting.html",
        facts=_facts(state),
        about=state.knob.help,
        crumbs=[(visit.url(BACK), _("Settings"))],
        **_preview(visit, state.knob, states, state.in_code),
    )


def _facts(state: KnobState) -> list[tuple[str, str]]:
    told = _told(state)
    facts = [(_("In force"), told["value"]), (_("In code"), told["in_code"])]
    if state.problem:
        facts.append((_("Not in force"), state.problem))
    return facts


def _preview(visit: Visit, knob: Knob, states: list[KnobState], value: Any) -> dict[str, Any]:
    """What would hold with this value; refused where it does not go together with the others."""
    others = {each.knob.name: each.value for each in states if each.is_overridden and not each.problem}
    try:
        settings = with_overrides(others | {knob.name: checked(knob, value)})
    except SettingsInvalid as problem:
        raise OptionInvalid(str(problem)) from None
    return {
        "would_be": words.shown(knob, getattr(settings, knob.name)),
        "effects": words.effect(knob, settings, database_now(visit.connection)),
    }


def _find(visit: Visit, name: str) -> tuple[list[KnobState], KnobState]:
    states = knob_states(visit.connection)
    for state in states:
        if state.knob.name == name:
            return states, state
    raise Http404(_("%(name)s cannot be changed at run time.") % {"name": name})


PAGES = [
    Page("", BACK, _listing),
    Page(
        "<slug:name>/edit/",
        "runtimesetting_edit",
        _edit,
        act="change_setting",
        label=gettext_lazy("Change"),
        help=gettext_lazy("All processes follow within a few seconds, and across restarts."),
    ),
    Page(
        "<slug:name>/reset/",
        "runtimesetting_reset",
        _reset,
        act="change_setting",
        label=gettext_lazy("Reset"),
        help=gettext_lazy("The override is forgotten, and code speaks again."),
    ),
]
