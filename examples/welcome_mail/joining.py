"""Somebody joins: the member and the job that welcomes them are stored together or not at all."""

from __future__ import annotations

from django.db import transaction

from examples.welcome_mail.jobs import welcome
from examples.welcome_mail.models import Member


def join(name: str, email: str) -> Member:
    with transaction.atomic():
        member = Member.objects.create(name=name, email=email)
        welcome(member)
    return member
