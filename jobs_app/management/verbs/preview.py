"""The next moments of a cron expression or an interval, in UTC and in a zone. Asks no database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from jobs_app.cron import parse
from jobs_app.management.arguments import period, positive
from jobs_app.management.output import Output
from jobs_app.preview import Slot, cron_slots, interval_slots
from jobs_app.wall_clock import clock

ASKS_DATABASE = False
COUNT = 10
MOST = 10_000


def add_arguments(parser: CommandParser) -> None:
    rule = parser.add_mutually_exclusive_group(required=True)
    rule.add_argument("--cron", metavar="EXPRESSION", help='such as "0 9 * * mon-fri"; six fields have seconds first')
    rule.add_argument("--every", type=period, metavar="TIME", help="an interval: seconds, or 90s, 5m, 1h")
    add = parser.add_argument
    add("--timezone", default="UTC", metavar="ZONE", help="such as Europe/Paris; %(default)s if left out")
    add("--from", dest="start", metavar="TIME", help="later than this, as 2026-01-31T09:00:00Z; now if left out")
    add("--count", type=positive, default=COUNT, help="how many, %(default)s if left out")


def handle(options: dict[str, Any], out: Output) -> None:
    if options["count"] > MOST:
        raise CommandError(f"--count: use at most {MOST}")
    slots = _slots(options)
    if out.as_json:
        out.json([_data(slot) for slot in slots])
        return
    out.table(("UTC", "LOCAL", "DAY", "NOTE"), (_row(slot) for slot in slots))


def _slots(options: dict[str, Any]) -> list[Slot]:
    zone, count = options["timezone"], options["count"]
    start = _start(options["start"], _read("--timezone", clock, zone).zone)
    if options["every"] is not None:
        return _read("--every", interval_slots, options["every"], start, count, timezone=zone)
    return cron_slots(_read("--cron", parse, options["cron"], zone), start, count)


def _read(option: str, reader: Any, *given: Any, **named: Any) -> Any:
    try:
        return reader(*given, **named)
    except ValueError as problem:
        raise CommandError(f"{option}: {problem}") from None
    except OverflowError:
        raise CommandError(f"{option}: the calendar ends before that") from None


def _start(text: str | None, zone: Any) -> datetime:
    """A date or time without a zone of its own is one of `zone`."""
    if text is None:
        return timezone.now()
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.utcoffset() is not None else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise CommandError(f"--from: use a date and a time, as 2026-01-31T09:00:00Z, not {text!r}") from None


def _data(slot: Slot) -> dict[str, Any]:
    return {"at": slot.at, "local": slot.local.isoformat(), "weekday": f"{slot.local:%a}", "note": slot.note}


def _row(slot: Slot) -> tuple[object, ...]:
    return slot.at, slot.local.isoformat(" ", "seconds"), f"{slot.local:%a}", slot.note
