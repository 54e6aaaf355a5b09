"""What somebody plans with: other slots, durations and subjects than there are, or numbers of their own altogether."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.capacity import (
    Demand,
    Load,
    PoolPlan,
    TypeCapacity,
    pool_plan,
    subject_load,
    tightest,
    type_capacity,
)

MINUTES = "minutes:"  # how the names of those fields begin that give the minutes of a job type
MOST_GIVEN = 200  # job types with minutes by hand
MOST_SLOTS = 100_000
MOST_SUBJECTS = 10_000_000
LONGEST_MINUTES = 7 * 24 * 60
ROWS = 4  # job types of the formula

# 18 subjects, each with 4 deals of 5 minutes and 6 retrievals of 2 minutes an hour, on 5 processes.
EXAMPLE = {
    "f-subjects": 18,
    "f-processes": 5,
    "f-name-1": "deal",
    "f-rate-1": 4,
    "f-minutes-1": 5,
    "f-slots-1": 10,
    "f-name-2": "retrieval",
    "f-rate-2": 6,
    "f-minutes-2": 2,
    "f-slots-2": 10,
}


def _count(most: int, **given: Any) -> forms.IntegerField:
    return forms.IntegerField(required=False, min_value=0, max_value=most, **given)


def _amount(most: float) -> forms.FloatField:
    return forms.FloatField(required=False, min_value=0, max_value=most)


class WhatIfForm(forms.Form):
    """Of what was measured, what would be if."""

    slots = _count(MOST_SLOTS, label=gettext_lazy("Slots, of all workers"))
    more = _count(MOST_SUBJECTS, label=gettext_lazy("Subjects more"))

    def __init__(self, query: Mapping[str, str]) -> None:
        super().__init__(query)
        for name in [name for name in query if name.startswith(MINUTES)][:MOST_GIVEN]:
            self.fields[name] = _amount(LONGEST_MINUTES)
            self.fields[name].label = _("Minutes of %(job_type)s") % {"job_type": name.removeprefix(MINUTES)}

    @property
    def minutes(self) -> dict[str, float]:
        given = {name.removeprefix(MINUTES): value for name, value in self._used.items() if name.startswith(MINUTES)}
        return {job_type: value for job_type, value in given.items() if value is not None}

    @property
    def slots_given(self) -> int | None:
        return self._used.get("slots")

    @property
    def subjects_more(self) -> int:
        return self._used.get("more") or 0

    @property
    def is_used(self) -> bool:
        return any(value is not None for value in self._used.values())

    @property
    def _used(self) -> dict[str, Any]:
        """What is wrong is told, and everything else counts."""
        self.is_valid()
        return self.cleaned_data


class Answer(NamedTuple):
    """What the formulas say to the numbers given."""

    types: list[tuple[Demand, TypeCapacity]]
    load: Load  # of one subject
    pool: PoolPlan
    limit: TypeCapacity | PoolPlan | None


class FormulaForm(forms.Form):
    """Numbers of one's own: each type has slots for itself in every process, and together they are the pool."""

    def __init__(self, query: Mapping[str, str]) -> None:
        self.is_asked = "f-subjects" in query
        super().__init__(query if self.is_asked else {name: str(value) for name, value in EXAMPLE.items()})
        self.fields["f-subjects"] = forms.IntegerField(
            label=_("Subjects"), min_value=0, max_value=MOST_SUBJECTS, required=True
        )
        self.fields["f-processes"] = forms.IntegerField(
            label=_("Processes"), min_value=1, max_value=MOST_SLOTS, required=True
        )
        for number in range(1, ROWS + 1):
            self._add_row(number)

    def _add_row(self, number: int) -> None:
        names = {
            f"f-name-{number}": forms.CharField(label=_("Job type"), required=False, max_length=120),
            f"f-rate-{number}": _amount(1_000_000),
            f"f-minutes-{number}": _amount(LONGEST_MINUTES),
            f"f-slots-{number}": _count(MOST_SLOTS),
        }
        labels = (_("Job type"), _("Jobs an hour, of one subject"), _("Minutes of one"), _("Slots in a process"))
        for (name, field), label in zip(names.items(), labels, strict=True):
            field.label = f"{label} {number}"
            self.fields[name] = field

    @property
    def rows(self) -> list[list[forms.BoundField]]:
        kinds = ("name", "rate", "minutes", "slots")
        return [[self[f"f-{kind}-{number}"] for kind in kinds] for number in range(1, ROWS + 1)]

    def answer(self) -> Answer | None:
        """None where a number is missing or cannot be used; the form says which."""
        if not self.is_valid():
            return None
        given = self.cleaned_data
        rows = [number for number in range(1, ROWS + 1) if given[f"f-name-{number}"]]
        demands = [
            Demand(given[f"f-name-{number}"], given[f"f-rate-{number}"] or 0.0, given[f"f-minutes-{number}"] or 0.0)
            for number in rows
        ]
        slots = [given[f"f-slots-{number}"] or 0 for number in rows]
        processes = given["f-processes"]
        types = [
            type_capacity(demand, slots=each, processes=processes) for demand, each in zip(demands, slots, strict=True)
        ]
        pool = pool_plan(demands, subjects=given["f-subjects"], slots=sum(slots), processes=processes)
        pairs = list(zip(demands, types, strict=True))
        return Answer(types=pairs, load=subject_load(demands), pool=pool, limit=tightest([*types, pool]))
