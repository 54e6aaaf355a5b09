"""Expressions that follow elapsed time: a slot whenever the clock shows a time that fits."""

from __future__ import annotations

from datetime import datetime

from jobs_app.cron.fields import Fields
from jobs_app.wall_clock import INSTANT, Clock


def after(fields: Fields, clock: Clock, moment: datetime) -> datetime | None:
    """The first slot later than `moment`."""
    wall = clock.shown(moment)
    slot = _first(fields, clock, wall, moment)
    if not wall.fold and len(clock.showings(wall)) == 2:  # the clock will show some times again before later ones
        change = clock.change_at(wall)
        if slot is None or slot >= change:
            return _first(fields, clock, clock.shown(change) - INSTANT, change - INSTANT)
    return slot


def newest(fields: Fields, clock: Clock, moment: datetime) -> datetime | None:
    """The newest slot that is not later than `moment`."""
    wall = clock.shown(moment)
    slot = _last(fields, clock, wall, moment)
    if wall.fold:  # the clock has shown later times before it went back
        change = clock.change_at(wall)
        if slot is None or slot < change:
            return _last(fields, clock, clock.shown(change - INSTANT), change - INSTANT)
    return slot


def _first(fields: Fields, clock: Clock, wall: datetime, since: datetime) -> datetime | None:
    """The first showing, later than `since`, of a time that fits and is later than `wall`."""
    found = fields.after(wall)
    while found is not None:
        for showing in clock.showings(found):
            if showing > since:
                return showing
        found = fields.after(clock.shown(clock.change_at(found)) - INSTANT)
    return None


def _last(fields: Fields, clock: Clock, wall: datetime, until: datetime) -> datetime | None:
    """The last showing, not later than `until`, of a time that fits and is not later than `wall`."""
    found = fields.newest(wall)
    while found is not None:
        for showing in reversed(clock.showings(found)):
            if showing <= until:
                return showing
        found = fields.newest(clock.shown(clock.change_at(found) - INSTANT))
    return None
