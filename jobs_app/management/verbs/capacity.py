"""Whether it fits: what schedules, types and subjects ask for, measured or given, and the slots there are for it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app.capacity import Demand, PoolPlan, TypeCapacity, pool_plan, subject_load, tightest, type_capacity
from jobs_app.insights import capacity
from jobs_app.insights.busiest import busiest
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.management import capacity as telling
from jobs_app.management.arguments import demand, positive
from jobs_app.management.output import Output

MODES = ("type", "subject", "busiest")
MEANT_FOR: dict[str, list[str | None]] = {"subjects": ["type"], "slots": ["type"]}
MEANT_FOR |= {"shared": ["type", None], "processes": ["type", None]}  # None: the pool

GIVEN = ("TYPE", "JOBS/H", "TAKES", "MINUTES/H", "JOBS/H AT MOST", "SUBJECTS AT MOST")
SUBJECT = ("TYPE", "JOBS/H", "P50", "P95", "MINUTES/H")
POOL = ("TYPE", "JOBS/H", "SUBJECTS", "P50", "P95", "MINUTES/H", "SLOTS", "JOBS/H AT MOST", "SUBJECTS AT MOST")
BUSIEST = ("SUBJECT", "MINUTES/H", "LEFT OUT", "VERDICT")


def add_arguments(parser: CommandParser) -> None:
    one_of = parser.add_mutually_exclusive_group().add_argument
    told = "given numbers: a subject asks for JOBS an hour of TIME each, as deal:4:5m; repeat it for each type"
    one_of("--type", type=demand, action="append", metavar="NAME:JOBS:TIME", help=told)
    one_of("--subject", help="one subject and its job types")
    one_of("--busiest", type=positive, metavar="N", help="the N subjects with the highest loads")
    add = parser.add_argument
    add("--subjects", type=positive, metavar="N", help="with --type: how many subjects; 1 if left out")
    add("--slots", type=positive, metavar="N", help="with --type: slots that each type has in a process")
    add("--shared", type=positive, metavar="N", help="slots in a process that all types share, instead of those alive")
    add("--processes", type=positive, metavar="N", help="with --slots or --shared: how many processes; 1 if left out")


def handle(options: dict[str, Any], out: Output) -> None:
    mode = next((name for name in MODES if options[name] is not None), None)
    for name, modes in MEANT_FOR.items():
        if options[name] is not None and mode not in modes:
            raise CommandError(
                f"--{name} says nothing {f'beside --{mode}' if mode else 'without --type'}: leave it out."
            )
    if mode == "type":
        _tell_given(options["type"], options, out)
    elif mode == "subject":
        _tell_subject(options["subject"], out)
    elif mode == "busiest":
        _tell_busiest(options["busiest"], out)
    else:
        _tell_pool(_slots(options), out)


def _tell_given(demands: list[Demand], options: dict[str, Any], out: Output) -> None:
    load, (types, pool) = subject_load(demands), _plans(demands, options)
    limit, pairs = tightest([*types, pool]), list(zip(demands, types, strict=True))
    if out.as_json:
        lines = [telling.given_data(*pair) for pair in pairs]
        data = {"subject": telling.load_data(load), "types": lines, "pool": telling.pool_data(pool)}
        out.json(data | telling.limit_data(limit))
        return
    out.table(GIVEN, [telling.given_row(*pair) for pair in pairs])
    out.line()
    out.line(f"One subject: {load.verdict}.")
    out.line(f"The pool: {pool.verdict}.")
    out.line(telling.limit_text(limit))


def _plans(demands: list[Demand], options: dict[str, Any]) -> tuple[list[TypeCapacity], PoolPlan]:
    """Slots that types have for themselves are the pool together, unless it is said to be smaller."""
    processes, own, shared = options["processes"] or 1, options["slots"], options["shared"]
    if own is None and shared is None:
        raise CommandError("how many slots has a process? Say --slots for each type, --shared for all, or both.")
    types = [type_capacity(each, slots=own or shared, processes=processes) for each in demands]
    together = shared or own * len(demands)
    return types, pool_plan(demands, subjects=options["subjects"] or 1, slots=together, processes=processes)


def _tell_subject(subject: str, out: Output) -> None:
    if not subject:
        raise CommandError("name a subject; work without one is part of the pool, as manage.py jobs capacity tells it.")
    found = capacity.of_subject(jobs_connection(), subject)
    if out.as_json:
        demands = [telling.demand_data(each) for each in found.demands]
        data = {"subject": subject, "types": demands, "load": telling.load_data(found.load)}
        out.json(data | {"unmeasured": found.unmeasured, "verdict": found.verdict})
        return
    if found.demands:
        out.table(SUBJECT, map(telling.demand_row, found.demands))
        out.line()
    else:
        out.note(f"No active schedule is about {subject}.")
    out.line(f"{subject}: {found.verdict}.")


def _tell_busiest(limit: int, out: Output) -> None:
    found = busiest(jobs_connection(), limit=limit)
    if out.as_json:
        names = [{"subject": each.subject, "left_out": each.left_out} for each in found]
        out.json({"subjects": [name | telling.load_data(each.load) for name, each in zip(names, found, strict=True)]})
        return
    rows = [(each.subject, telling.number(each.load.minutes), each.left_out, each.load.verdict) for each in found]
    out.table(BUSIEST, rows)


def _tell_pool(slots: int | None, out: Output) -> None:
    found = capacity.of_pool(jobs_connection(), slots=slots)
    if out.as_json:
        types = [telling.type_data(each) for each in found.types]
        data = {"at": found.at, "types": types, "pool": telling.pool_data(found.plan), "unmeasured": found.unmeasured}
        out.json(data | telling.limit_data(found.limit) | {"capped": found.is_capped, "verdict": found.verdict})
        return
    if not found.types:
        out.note("No schedule is active. Plan ahead with given numbers: --type deal:4:5m --shared 10")
    out.table(POOL, map(telling.type_row, found.types))
    out.line()
    out.line(f"The pool: {found.verdict}.")
    out.line(telling.limit_text(found.limit))
    if found.is_capped:
        out.line("There are more rules of schedules than were looked at: the loads are at least these.")


def _slots(options: dict[str, Any]) -> int | None:
    if options["processes"] is not None and options["shared"] is None:
        raise CommandError("how many slots has each of these processes? Say so with --shared.")
    return None if options["shared"] is None else options["shared"] * (options["processes"] or 1)
