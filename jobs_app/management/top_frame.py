"""One frame of `jobs top`: what was read becomes lines that fit a terminal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from jobs_app import durations
from jobs_app.insights.live_view import LiveView
from jobs_app.insights.processes import LIVING
from jobs_app.insights.verdict import BAD, WARN
from jobs_app.management.findings import ALL_WELL, judged
from jobs_app.management.output import NOTHING, shown, table_lines
from jobs_app.management.processes import name_of, process_row, seconds_of
from jobs_app.models import Run
from jobs_app.text import clean

BOLD = "bold"
LEAST = 2  # lines of a section: its headers and a row
MOST_FINDINGS = 3  # lines
MOST_CELL = 40  # characters: a long name must not push what stands behind it off the screen


class Line(NamedTuple):
    text: str
    tone: str = ""  # bad, warn, bold


@dataclass(frozen=True)
class Section:
    """A table of which the first rows are shown, as many as there is room for."""

    headers: tuple[str, ...]
    rows: Sequence[Sequence[object]]

    def lines(self, room: int) -> list[Line]:
        count = min(len(self.rows), room - 1)
        first, *others = self.headers
        told = first if count == len(self.rows) else f"{first} ({count} of {len(self.rows)})"
        headers, *body = table_lines((told, *others), [_cut(row) for row in self.rows[:count]])
        return [Line(""), Line(headers, BOLD), *map(Line, body)]


def frame(view: LiveView | None, *, width: int, height: int, every: float, problem: str = "") -> list[Line]:
    """At most `height` lines of at most `width` characters. `problem`: why there is nothing newer, or nothing."""
    lines = [_title(view, every), *([Line(shown(problem), BAD)] if problem else [])]
    if view is not None:
        lines += [*([] if problem else _verdict(view)), Line(_totals(view))]
        lines += _fitted(_sections(view), height - len(lines))
    return [Line(text[:width], tone) for text, tone in lines[:height]]


def _title(view: LiveView | None, every: float) -> Line:
    at = "" if view is None or view.known.now is None else f" as of {shown(view.known.now.at)}"
    return Line(f"Jobs{at}, read every {durations.exact(every)}", BOLD)


def _verdict(view: LiveView) -> list[Line]:
    found = judged(view.known)
    lines = [Line(shown(each.sentence), each.level) for each in found[:MOST_FINDINGS]]
    if len(found) > MOST_FINDINGS:
        lines.append(Line(f"and {len(found) - MOST_FINDINGS} more: jobs status --check tells them all", WARN))
    if not view.is_all:
        lines.append(Line("Not everything could be read in time.", WARN))
    return lines or [Line(ALL_WELL)]


def _totals(view: LiveView) -> str:
    now, ended = view.known.now, view.ended
    more = "+" if now and now.is_capped else ""
    counted = {
        "waiting": f"{now.waiting}{more}" if now else None,
        "running": now and now.running,
        "retrying": f"{view.retrying}{more}" if now else None,
        "failed in the last hour": ended and f"{ended.states['failed']}{'+' if ended.is_capped else ''}",
        "in/min": _rate(view.per_minute_in),
        "out/min": _rate(view.per_minute_out),
    }
    return ", ".join(f"{NOTHING if value is None else value} {name}" for name, value in counted.items())


def _sections(view: LiveView) -> list[Section]:
    at = view.known.now.at if view.known.now else None
    if at is None:
        return []
    sections = [_queues(view), _processes(view, at), _running(view, at), _failed(view, at)]
    return [section for section in sections if section.rows]


def _queues(view: LiveView) -> Section:
    rows = []
    for each in view.queues:
        wait = None if each.oldest_wait is None else durations.rough(each.oldest_wait)
        rates = _rate(each.hour.per_minute_in), _rate(each.hour.per_minute_out)
        rows.append((each.name, each.counts.waiting, each.counts.running, wait, *rates, each.state))
    return Section(("QUEUE", "WAITING", "RUNNING", "OLDEST WAIT", "IN/MIN", "OUT/MIN", "STATE"), rows)


def _processes(view: LiveView, at: datetime) -> Section:
    """Those that live first, and of them the busiest."""
    found = view.known.now.processes.found if view.known.now else []
    ordered = sorted(found, key=lambda each: (each.status not in LIVING, -each.row.busy))
    rows = []
    for each in ordered:
        kind, name, status, busy, seen, queues = process_row(each.row, at)
        rows.append((name, kind, status, busy, seen, queues))
    return Section(("PROCESS", "KIND", "STATUS", "BUSY", "SEEN", "QUEUES"), rows)


def _running(view: LiveView, at: datetime) -> Section:
    found = view.known.now.processes.found if view.known.now else []
    names = {each.row.pk: name_of(each.row) for each in found}
    rows = [
        (each.job_type, each.subject, durations.rough(seconds_of(each, at) or 0), names.get(each.worker_id), each.pk)
        for each in view.running or ()
    ]
    return Section(("RUNNING", "SUBJECT", "FOR", "ON", "RUN"), rows)


def _failed(view: LiveView, at: datetime) -> Section:
    rows = [(each.job_type, each.subject, _ago(each, at), each.pk, _error(each)) for each in view.failed or ()]
    return Section(("FAILED", "SUBJECT", "AGO", "RUN", "ERROR"), rows)


def _ago(run: Run, at: datetime) -> str | None:
    return None if run.finished_at is None else durations.rough((at - run.finished_at).total_seconds())


def _error(run: Run) -> str:
    """Its class, where an attempt had one, and its message."""
    kind = (getattr(run, "error_class", None) or "").rpartition(".")[2]
    return ": ".join(filter(None, (kind, run.error)))


def _fitted(sections: Sequence[Section], room: int) -> list[Line]:
    """Each with a blank line above it. Where not all fit, the last ones are left out."""
    while sections and room < len(sections) * (LEAST + 1):
        sections = sections[:-1]
    wanted = [len(section.rows) + 1 for section in sections]
    given = share(wanted, room - len(sections))
    return [line for section, lines in zip(sections, given, strict=True) for line in section.lines(lines)]


def share(wanted: Sequence[int], room: int) -> list[int]:
    """As much as each wants where there is room for all; else what the small ones leave goes to the others."""
    given, left = [0] * len(wanted), room
    for place, waiting in sorted(enumerate(wanted), key=lambda each: each[1]):
        others = sum(1 for lines in given if not lines)
        given[place] = min(waiting, left // others)
        left -= given[place]
    return given


def _cut(row: Sequence[object]) -> list[object]:
    """But for what stands last."""
    return [*(clean(cell, MOST_CELL) if isinstance(cell, str) else cell for cell in row[:-1]), row[-1]]


def _rate(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"
