"""A person says yes before much is changed; where nobody can be asked, the command line has to."""

from __future__ import annotations

import sys

from django.core.management.base import CommandError

from jobs_app.management.exit_codes import WRONG_USAGE
from jobs_app.management.output import Output

YES = ("y", "yes")


def confirm(question: str, out: Output) -> None:
    """Go on, or CommandError."""
    if not sys.stdin.isatty():
        raise CommandError(
            f"{question} Nobody can be asked here: say --yes, or look with --dry-run.", returncode=WRONG_USAGE
        )
    out.note(f"{question} Type yes to do it:")
    if sys.stdin.readline().strip().lower() not in YES:
        raise CommandError("nothing was changed.")
