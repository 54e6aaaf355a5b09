"""What needs attention, as the command line tells it: what the dashboard finds, in plain English."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils import translation

from jobs_app.insights.verdict import BAD, Finding, Known, judge
from jobs_app.text import one_line

ALL_WELL = "All is well."
OK = "ok"


def judged(known: Known) -> list[Finding]:
    """The worst first; in the same words whatever the language of the site, as everything else in a terminal."""
    with translation.override(None):
        return judge(known)


def bad_among(found: Sequence[Finding]) -> list[Finding]:
    return [each for each in found if each.level == BAD]


def level_of(found: Sequence[Finding]) -> str:
    """Of the worst."""
    return found[0].level if found else OK


def finding_data(each: Finding) -> dict[str, Any]:
    return {"kind": each.kind, "level": each.level, "sentence": each.sentence}


def finding_lines(found: Sequence[Finding]) -> list[str]:
    return [one_line(f"{each.level}: {each.sentence}") for each in found] or [ALL_WELL]
