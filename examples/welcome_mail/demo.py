"""What the demo starts with: members of whom one is hard to reach, one cannot be reached, and one was imported."""

from __future__ import annotations

from examples.programs import Program
from examples.welcome_mail.joining import join
from examples.welcome_mail.models import Member

PROGRAMS = {"mailbox": Program("examples.welcome_mail.mailbox", "EMAIL_URL", 8107, scheme="smtp")}

MEMBERS = {
    "Ada": "ada@example.com",
    "Grace": "grace@example.com",
    "Fay": "flaky-fay@example.com",
    "Nobody": "nobody@example.com",
}
IMPORTED = {"Joan": "joan@example.com"}


def fill() -> None:
    """Each of them is there once; those who were welcomed have left meanwhile, and join anew."""
    everybody = MEMBERS | IMPORTED
    Member.objects.filter(email__in=everybody.values(), welcomed_at__isnull=False).delete()
    for name, email in everybody.items():
        if Member.objects.filter(email=email).exists():
            continue
        if name in IMPORTED:
            Member.objects.create(name=name, email=email)  # by whatever brought her in, and told nobody
        else:
            join(name, email)
