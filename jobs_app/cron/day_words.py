"""The days and months of an expression in words, and lists of numbers as people read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from django.utils.dates import MONTHS, WEEKDAYS
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs_app.cron.days import LAST, Days

EVERY_MONTH = tuple(range(1, 13))
LEAST_IN_A_ROW = 3  # that are told by the first and the last


def days_told(days: Days) -> str:
    """Dates and weekdays that both choose are joined by "or", as cron does. Nothing where every day is meant."""
    parts = [_dates(days.dates or frozenset()), *map(_working_day, sorted(days.working_days))]
    parts.append(_weekdays(days.weekdays or frozenset()))
    return get_text_list([part for part in parts if part], _("or"))


def months_told(months: Sequence[int]) -> str:
    if tuple(months) == EVERY_MONTH:
        return ""
    return _("in %(months)s") % {"months": listed(ranges(months, lambda month: str(MONTHS[month])))}


def listed(texts: Iterable[str]) -> str:
    return get_text_list(list(texts), _("and"))


def ranges(numbers: Sequence[int], name: Callable[[int], str] = str) -> list[str]:
    found: list[str] = []
    for row in _in_a_row(numbers):
        if len(row) < LEAST_IN_A_ROW:
            found += map(name, row)
        else:
            found.append(_("%(first)s to %(last)s") % {"first": name(row[0]), "last": name(row[-1])})
    return found


def _in_a_row(numbers: Sequence[int]) -> list[list[int]]:
    rows: list[list[int]] = []
    for number in numbers:
        if rows and number == rows[-1][-1] + 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    return rows


def _dates(dates: frozenset[int]) -> str:
    numbers = sorted(dates - {LAST})
    texts = [_("on the last day of the month")] if LAST in dates else []
    if numbers:
        told = ngettext("on day %(days)s of the month", "on days %(days)s of the month", len(numbers))
        texts.insert(0, told % {"days": listed(ranges(numbers))})
    return listed(texts)


def _working_day(date: int) -> str:
    return _("on the working day nearest to day %(day)s of the month") % {"day": date}


def _weekdays(weekdays: frozenset[tuple[int, int | None]]) -> str:
    """Monday comes first, and the last one of a month after all that are counted."""
    plain = sorted(_from_monday(day) for day, number in weekdays if number is None)
    if plain:
        return _("on %(days)s") % {"days": listed(ranges(plain, lambda day: str(WEEKDAYS[day])))}
    numbered = sorted((number == LAST, number, day) for day, number in weekdays if number is not None)
    texts = [_numbered(number, day) for _is_last, number, day in numbered]
    return _("on %(days)s of the month") % {"days": listed(texts)} if texts else ""


def _numbered(number: int, day: int) -> str:
    texts = {
        1: _("the first %(day)s"),
        2: _("the second %(day)s"),
        3: _("the third %(day)s"),
        4: _("the fourth %(day)s"),
        5: _("the fifth %(day)s"),
        LAST: _("the last %(day)s"),
    }
    return texts[number] % {"day": WEEKDAYS[_from_monday(day)]}


def _from_monday(day: int) -> int:
    """Cron counts from Sunday, the standard library and Django from Monday."""
    return (day - 1) % 7
