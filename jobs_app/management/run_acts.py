"""A verb upon runs, named or chosen: looked at, confirmed, and done part by part, so that it can be stopped between."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app.insights.run_documents import run_summary
from jobs_app.insights.run_selection import Look
from jobs_app.lifecycle.control import Acted
from jobs_app.lifecycle.control.acting import begin
from jobs_app.lifecycle.control.bulk import VERBS
from jobs_app.management.acts import add_act_arguments
from jobs_app.management.arguments import positive
from jobs_app.management.confirming import confirm
from jobs_app.management.exit_codes import INTERRUPTED, NOTHING_MATCHED, PARTLY_DONE
from jobs_app.management.output import Output
from jobs_app.management.progress import Progress
from jobs_app.management.run_filters import add_filter_arguments
from jobs_app.management.runs import run_table
from jobs_app.management.wanted_runs import Named, OnIds, Wanted, wanted_of

MOST_REASONS = 5  # that one line tells


@dataclass(frozen=True, kw_only=True)
class RunVerb:
    name: str
    doing: str
    done: str
    on_ids: OnIds

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("ids", nargs="*", metavar="ID", help="of runs; or choose them as below")
        add("--limit", type=positive, metavar="N", help="of those chosen, so many at most")
        add("--dry-run", action="store_true", help="tell how many there are, show ten, and change nothing")
        add("--yes", action="store_true", help="do not ask; needed for chosen ones where there is no terminal")
        add("--fail-if-empty", action="store_true", help="exit code 3 if no run is as asked for")
        add_act_arguments(parser)
        add_filter_arguments(parser)

    def handle(self, options: dict[str, Any], out: Output) -> None:
        begin(self.name, VERBS[self.name].permission, options["actor"], options["reason"])  # else nothing is told
        wanted = wanted_of(self.name, self.on_ids, options)
        found = wanted.look()
        if options["dry_run"]:
            self._tell_look(found, out)
        else:
            if found.counted.number and not isinstance(wanted, Named) and not options["yes"]:
                confirm(f"{self.name.capitalize()} {_runs(found)}?", out)
            self._act(wanted, found, out)
        if options["fail_if_empty"] and not found.counted.number:
            raise CommandError("no run is as asked for.", returncode=NOTHING_MATCHED)

    def _act(self, wanted: Wanted, found: Look, out: Output) -> None:
        acted = Acted()
        try:
            self._do(wanted, found, acted, out)
        except KeyboardInterrupt:
            told = f"interrupted: {len(acted.moved)} runs {self.done}{_skips(acted)}. The others are as they were."
            raise CommandError(told, returncode=INTERRUPTED) from None
        if out.as_json:
            out.json({"verb": self.name, "dry_run": False, **_data(acted)})
        elif isinstance(wanted, Named):
            out.table(("RUN", "NOW", "NOTE"), [self._row(run_id, acted) for run_id in wanted.ids])
        else:
            asked = f", {len(acted.asked)} of them asked to stop" if acted.asked else ""
            out.line(f"{len(acted.moved)} {_noun(len(acted.moved))} {self.done}{asked}.")
        if acted.skipped:
            raise CommandError(f"{len(acted.moved)} {self.done}{_skips(acted)}.", returncode=PARTLY_DONE)

    def _do(self, wanted: Wanted, found: Look, acted: Acted, out: Output) -> None:
        total = None if found.counted.is_capped else found.counted.number
        with Progress(out, self.doing, total) as progress:
            for part in wanted.parts():
                acted.add(part)
                progress.show(len(acted.moved) + len(acted.skipped))

    def _row(self, run_id: Any, acted: Acted) -> tuple[object, ...]:
        if run_id in acted.skipped:
            return run_id, "skipped", acted.skipped[run_id]
        if run_id in acted.asked:
            return run_id, "asked to stop", None
        new = acted.new_runs.get(run_id)
        return run_id, self.done, new and f"as {new}"

    def _tell_look(self, found: Look, out: Output) -> None:
        if out.as_json:
            told = {"count": found.counted.number, "capped": found.counted.is_capped, "would_skip": found.skipped}
            out.json({"verb": self.name, "dry_run": True, **told, "sample": [run_summary(run) for run in found.sample]})
            return
        out.table(*run_table(found.sample))
        out.note(f"{_runs(found).capitalize()} to {self.name}; nothing was changed.")
        for why, count in found.skipped.most_common():
            out.note(f"{count} would be skipped: {why}")


def _data(acted: Acted) -> dict[str, Any]:
    new_runs = {str(run_id): new for run_id, new in acted.new_runs.items()}
    skipped = {str(run_id): why for run_id, why in acted.skipped.items()}
    return {"moved": acted.moved, "asked": acted.asked, "new_runs": new_runs, "skipped": skipped}


def _skips(acted: Acted) -> str:
    """How many, and of the usual reasons how often each."""
    if not acted.skipped:
        return ""
    reasons = Counter(acted.skipped.values()).most_common(MOST_REASONS)
    return f", {len(acted.skipped)} skipped: {'; '.join(f'{count} {why}' for why, count in reasons)}"


def _runs(found: Look) -> str:
    more = "more than " if found.counted.is_capped else ""
    return f"{more}{found.counted.number} {_noun(found.counted.number)}"


def _noun(count: int) -> str:
    return "run" if count == 1 else "runs"
