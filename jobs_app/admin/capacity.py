"""Capacity: does what the schedules ask for fit, who can never catch up, and what would be if."""

from __future__ import annotations

from typing import Any

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from jobs_app.admin.capacity_forms import MINUTES, FormulaForm, WhatIfForm
from jobs_app.admin.pages import Page
from jobs_app.admin.visits import Visit
from jobs_app.capacity import PoolPlan, TypeCapacity, shown
from jobs_app.insights import capacity, queues
from jobs_app.insights.busiest import MOST_SHOWN, with_late
from jobs_app.insights.capacity import MeasuredType

READ_SECONDS = 5.0


def _capacity(visit: Visit) -> HttpResponseBase:
    query = visit.request.GET.dict()
    what_if, formula = WhatIfForm(query), FormulaForm(query)
    given: dict[str, Any] = {"minutes": what_if.minutes}
    pool = visit.read(
        lambda: capacity.of_pool(visit.connection, slots=what_if.slots_given, more=what_if.subjects_more, **given),
        seconds=READ_SECONDS,
    )
    top, late = visit.read(lambda: with_late(visit.connection, **given), seconds=READ_SECONDS) or (None, None)
    listed = visit.read(lambda: queues.listing(visit.connection), seconds=READ_SECONDS)
    answer = formula.answer()
    return visit.render(
        "capacity.html",
        _("Capacity"),
        what_if=what_if,
        pool=pool,
        types=[(each, _minutes(each, query)) for each in pool.types] if pool else [],
        pool_answer=_told(pool.limit) if pool else "",
        late=late,
        is_late_cut=late is not None and len(late) == MOST_SHOWN,
        busiest=top,
        queues=[line for line in listed.lines if line.counts.waiting] if listed else None,
        is_capped=bool(listed and listed.is_capped),
        formula=formula,
        answer=answer,
        formula_answer=_told(answer.limit) if answer else "",
        kept=[(name, value) for name, value in query.items() if not name.startswith("f-")],
        kept_formula=[(name, value) for name, value in query.items() if name.startswith("f-")],
    )


def _minutes(each: MeasuredType, query: dict[str, str]) -> dict[str, str]:
    """The field for the minutes of a type: what was typed, and what was measured as a hint."""
    name = f"{MINUTES}{each.job_type}"
    measured = "" if each.duration is None else shown(each.duration.p95 / 60)
    return {"name": name, "typed": query.get(name, ""), "measured": measured}


def _told(limit: TypeCapacity | PoolPlan | None) -> str:
    if limit is None:
        return _("Nothing limits the number of subjects.")
    if isinstance(limit, TypeCapacity):
        told = {"subjects": limit.most_subjects, "name": limit.job_type}
        return _("%(subjects)s subjects at most, limited by the slots of %(name)s.") % told
    told = {"subjects": limit.most_subjects}
    return _("%(subjects)s subjects at most, limited by the slots that all types share.") % told


PAGES = [Page("capacity/", "dashboard_capacity", _capacity)]
