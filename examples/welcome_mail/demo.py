"""What the demo starts with: members of whom one is hard to reach and one cannot be reached."""

from __future__ import annotations

from examples.programs import Program
from examples.welcome_mail.joining import join
from examples.welcome_mail.models import Member

PROGRAMS = {"mailbox": Program("examples.welcome_mail.mailbox", "EMAIL_URL", scheme="smtp")}

MEMBERS = {
    "Ada": "ada@example.com",
    "Grace": "grace@example.com",
    "Fay": "flaky-fay@example.com",
    "Nobody": "nobody@example.com",
}


def fill() -> None:
    for name, email in MEMBERS.items():
        if not Member.objects.filter(email=email).exists():
            join(name, email)
    Member.objects.get_or_create(email="imported@example.com", defaults={"name": "Imported from a list"})
