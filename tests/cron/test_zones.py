"""Slots around every change of clocks from 2020 to 2035, against witnesses that look at every minute."""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime, timedelta

import pytest

from jobs_app.cron import parse
from tests.cron.oracles import ALL, AROUND, Change, kinds, simulated, tables, walk, walked

SOME = 5  # of the expressions, another handful for each change


def found(expression: str, change: Change) -> list[datetime]:
    return list(parse(expression, change.zone).between(change.at - AROUND, change.at + AROUND))


def is_told_right_by_cronsim(expression: str, change: Change) -> bool:
    """Where a change moves the minutes too or skips midnight, its steps of whole hours pass over times that fit."""
    return change.is_plain or not any(part.startswith("*") for part in expression.split()[:2])


def test_the_witnesses_know_changes_of_many_kinds() -> None:
    by = {change.kind[0] for change in kinds()}
    assert {timedelta(hours=1), timedelta(hours=-1), timedelta(minutes=30), timedelta(minutes=-30)} <= by
    assert {change.is_plain for change in kinds()} == {True, False}
    assert (len(ALL), len(set(ALL))) == (50, 50)


def test_the_slots_around_each_kind_of_change_are_right() -> None:
    for change in kinds():
        for expression in ALL:
            assert found(expression, change) == walked(expression, change), (expression, change)


def test_cronsim_finds_the_same_around_each_kind_of_change() -> None:
    for change in kinds():
        for expression in filter(lambda each: is_told_right_by_cronsim(each, change), ALL[::2]):
            assert found(expression, change) == simulated(expression, change), (expression, change)


def test_cronsim_finds_the_same_with_seconds() -> None:
    for change in [change for change in kinds() if change.is_plain][:6]:
        for expression in ("*/40 */20 * * * *", "15 */30 2 * * *", "0 0 * * * *", "*/20 59 */2 * * 0,6"):
            assert found(expression, change) == simulated(expression, change), (expression, change)


def test_some_expressions_are_right_in_every_zone() -> None:
    for turn, changes in enumerate(tables().values()):
        for number, change in enumerate(changes[-2:]):
            for expression in (ALL[(SOME * (2 * turn + number) + place) % len(ALL)] for place in range(SOME)):
                assert found(expression, change) == walked(expression, change), (expression, change)


def test_the_slots_next_to_any_moment_are_those_of_the_whole_list() -> None:
    for change in kinds():
        moments = [moment + timedelta(seconds=17) for moment, _ in walk(change)[1380:-1380:7]] + [change.at]
        for expression in ("*/20 * * * *", "*/10 1,2 * * *", "30 0-23 * * *", "0,30 1-3 * * *"):
            cron, slots = parse(expression, change.zone), walked(expression, change)
            for moment in moments:
                place = bisect_right(slots, moment)
                assert (cron.newest(moment), cron.after(moment)) == tuple(slots[place - 1 : place + 1])


@pytest.mark.slow
def test_every_expression_is_right_around_every_change_of_every_zone() -> None:
    for change in (change for changes in tables().values() for change in changes):
        for expression in ALL:
            told = found(expression, change)
            assert told == walked(expression, change), (expression, change)
            if is_told_right_by_cronsim(expression, change):
                assert told == simulated(expression, change), (expression, change)
        walk.cache_clear()
