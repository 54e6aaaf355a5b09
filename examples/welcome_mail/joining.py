"""Somebody joins: the member and the job that welcomes them are stored together or not at all."""

from __future__ import annotations

from django.db import transaction

from examples.welcome_mail.jobs import send_welcome_email
from examples.welcome_mail.models import Member
from jobs_app.handles import RunHandle


def join(name: str, email: str) -> Member:
    with transaction.atomic():
        member = Member.objects.create(name=name, email=email)
        welcome(member)
    return member


def welcome(member: Member) -> RunHandle:
    """However often it is asked for, a member has one run: the key is theirs."""
    job = send_welcome_email.options(subject=f"member {member.pk}", idempotency_key=f"welcome-{member.pk}")
    return job.enqueue(member=member.pk, email=member.email)
