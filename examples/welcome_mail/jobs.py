"""Two jobs, defined once and in code: one that is triggered, with a schema, and one that comes back by the clock."""

from __future__ import annotations

import environ
from django import forms
from django.core.mail import send_mail
from django.utils import timezone

from examples import pace
from examples.welcome_mail.models import Member
from jobs_app import Backoff, current_job, job
from jobs_app.errors import JobDisabled

env = environ.Env()
RETRY = Backoff(base=pace.minutes(1), factor=1, cap=None, jitter="none")  # each time the same minute
CRON = env.str("WELCOME_MAIL_CRON", default="0 9 * * *" if pace.IS_USUAL else "* * * * *")


class WelcomeForm(forms.Form):
    """The payload: checked before anything is stored and again before the handler is called, and asked for by this form
    where somebody triggers the job in the admin. Stored is the member's number, the handler gets the member."""

    member = forms.ModelChoiceField(Member.objects.all(), help_text="The number of a member.")
    again = forms.BooleanField(required=False, help_text="Also if this member was welcomed before.")


@job(
    name="send-welcome-email",
    queue="mail",
    preset="plane",  # four attempts; a worker that must stop fails what still runs
    backoff=RETRY,
    priority=5,
    timeout=pace.minutes(2),
    schema=WelcomeForm,
    subject=lambda payload: f"member {payload['member']}",
    singleton=True,  # of two runs for a member, the second begins when the first has noted its mail
    enabled=lambda: env.bool("ENABLE_WELCOME_MAIL", default=True),
)
def send_welcome_email(member: Member, again: bool) -> str:
    """Sends one e-mail through the mail server of the site, and notes when."""
    if member.welcomed_at and not again:
        return "was welcomed before"  # by a run that was killed before its end was stored, for one
    current_job().log(f"writing to {member.email}")
    send_mail(f"Welcome, {member.name}!", "We are glad that you are here.", None, [member.email])
    Member.objects.filter(pk=member.pk).update(welcomed_at=timezone.now())
    return f"sent to {member.email}"


@job(name="welcome-the-missed", queue="mail", preset="plane", backoff=RETRY, cron=CRON)
def welcome_the_missed() -> int:
    """Looks for members who came by an import, or while the mail was switched off; how many there were."""
    return sum(welcome(member) for member in Member.objects.filter(welcomed_at=None))


def welcome(member: Member) -> bool:
    """Whether there is a new run for it. However often this is called, a member has one in a week: so long their key is
    kept. Whoever could not be reached is then tried anew."""
    once = send_welcome_email.options(idempotency_key=f"member {member.pk}")
    try:
        return once.enqueue(member=member.pk).created
    except JobDisabled:
        return False
