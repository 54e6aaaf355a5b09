"""What pages of schedules are written with besides: slots on a clock of their own, and acts upon a whole filter."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django import template
from django.template.context import Context
from django.utils import formats
from django.utils.safestring import SafeString

from jobs_app.templatetags import jobs_pages

register = template.Library()


@register.simple_tag(takes_context=True)
def bulk(context: Context, name: str, query: Mapping[str, str]) -> SafeString | str:
    """The button of an act upon all that a filter finds, for who may."""
    return jobs_pages.act(context, name, **query)


@register.filter
def slot_time(local: datetime) -> str:
    """A moment on the clock that it comes with, not on the reader's, with its day of the week."""
    shown = local.replace(tzinfo=None)
    day = formats.date_format(shown, "D"), formats.date_format(shown, "SHORT_DATE_FORMAT")
    return f"{day[0]} {day[1]} {local:%H:%M:%S} {local.tzname()}"
