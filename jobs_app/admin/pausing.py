"""Pause and resume, the same two pages for everything, a queue, a job type and a subject."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.http import HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs_app.admin.acts import ActForm, ReasonForm, RequiredReasonForm, act, write_log_entry
from jobs_app.admin.pages import Page
from jobs_app.admin.visits import Visit
from jobs_app.insights import pauses
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.pauses import PARKING
from jobs_app.models import Pause, Scope
from jobs_app.templatetags.moments import exact

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MORNING = 9  # o'clock, in the zone of who asks
QUARTER, HOUR = timedelta(minutes=15), timedelta(hours=1)
NO_END, TOMORROW, GIVEN = "", "tomorrow", "given"
LENGTHS = {"15m": QUARTER, "1h": HOUR}

TITLES: dict[str, tuple[StrOrPromise, StrOrPromise]] = {
    Scope.ALL: (gettext_lazy("Pause everything"), gettext_lazy("Resume everything")),
    Scope.QUEUE: (gettext_lazy("Pause queue %(name)s"), gettext_lazy("Resume queue %(name)s")),
    Scope.JOB_TYPE: (gettext_lazy("Pause job type %(name)s"), gettext_lazy("Resume job type %(name)s")),
    Scope.SUBJECT: (gettext_lazy("Pause subject %(name)s"), gettext_lazy("Resume subject %(name)s")),
}
