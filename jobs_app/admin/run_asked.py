"""The filter of runs that somebody asks with, as far as they may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from jobs_app.admin.visits import Visit
from jobs_app.errors import OptionInvalid
from jobs_app.insights.run_filter import RunFilter


def read_filter(visit: Visit) -> tuple[RunFilter, dict[str, str]]:
    """What can be used of the address, and what is wrong with the rest, by name."""
    return _permitted(visit, *RunFilter.read(visit.request.GET))


def filter_of(visit: Visit, query: Mapping[str, Any]) -> RunFilter:
    """The same where all of it has to be right: else OptionInvalid."""
    chosen, problems = _permitted(visit, *RunFilter.read(query))
    if problems:
        raise OptionInvalid(" ".join(problems.values()))
    return chosen


def _permitted(visit: Visit, chosen: RunFilter, problems: dict[str, str]) -> tuple[RunFilter, dict[str, str]]:
    """Who may not see payloads must not guess at them."""
    if chosen.reads_payload and not visit.may("view_payload"):
        told = {"q": _("You may not see payloads, so you cannot search in them.")}
        return chosen.without("q"), problems | told
    return chosen, problems
