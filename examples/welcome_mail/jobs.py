"""Two jobs, defined once and in code: one that is triggered, with a schema, and one that comes back by the clock."""

from __future__ import annotations

import environ
from django import forms
from django.core.mail import send_mail
from django.utils import timezone

from examples import pace
from examples.welcome_mail.models import Member
from jobs_app import Backoff, current_job, job

env = environ.Env()
RETRY = Backoff(base=pace.minutes(1), factor=1, cap=None, jitter="none")  # each time the same minute
EVERY_MORNING, EVERY_HALF_MINUTE = "0 9 * * *", "*/30 * * * * *"
CRON = env.str("WELCOME_MAIL_CRON", default=EVERY_MORNING if pace.IS_USUAL else EVERY_HALF_MINUTE)


class WelcomeForm(forms.Form):
    """The payload, checked before anything is stored, and the form with which the admin triggers it."""

    member = forms.IntegerField(min_value=1, required=False, help_text="whom to note as welcomed; none for a test")
    email = forms.EmailField()
    language = forms.ChoiceField(choices=[("en", "English"), ("de", "German")], required=False)


@job(
    name="send-welcome-email",
    queue="mail",
    preset="plane",
    backoff=RETRY,
    priority=5,
    schema=WelcomeForm,
    enabled=lambda: env.bool("ENABLE_WELCOME_MAIL", default=True),
)
def send_welcome_email(member: int | None, email: str, language: str) -> str:
    """Sends one e-mail through the mail server of the site, and notes when."""
    greeting = "Willkommen!" if language == "de" else "Welcome!"
    current_job().log(f"writing to {email}")
    send_mail(greeting, f"{greeting} We are glad that you are here.", None, [email])
    Member.objects.filter(pk=member).update(welcomed_at=timezone.now())
    return f"sent to {email}"


@job(name="welcome-digest", queue="mail", preset="plane", backoff=RETRY, cron=CRON)
def welcome_digest() -> dict[str, int]:
    """Looks for members whom nobody has welcomed, such as those of an import, and sees to it."""
    from examples.welcome_mail.joining import welcome

    asked = [welcome(member) for member in Member.objects.filter(welcomed_at=None)]
    return {"asked for": len(asked), "new": sum(run.created for run in asked)}
