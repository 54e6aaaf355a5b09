"""`manage.py jobs <verb>`: see and operate jobs from a terminal."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, cast

from django.core.exceptions import PermissionDenied
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, InterfaceError

from jobs_app.errors import JobsError
from jobs_app.lifecycle.overrides import keep_up
from jobs_app.management import verbs
from jobs_app.management.acts import who_acts
from jobs_app.management.arguments import add_common_arguments
from jobs_app.management.database import cannot_answer
from jobs_app.management.exit_codes import ERROR, INTERRUPTED
from jobs_app.management.output import Output


class Verb(Protocol):
    __doc__: str | None

    def add_arguments(self, parser: CommandParser) -> None: ...
    def handle(self, options: dict[str, Any], out: Output) -> None: ...


class Command(BaseCommand):
    help = "See and operate jobs."
    requires_system_checks = []  # must also help where something is wrong

    def add_arguments(self, parser: CommandParser) -> None:
        choices = parser.add_subparsers(dest="verb", metavar="verb", required=True)
        for name, verb in find_verbs().items():
            told = (verb.__doc__ or "").strip()
            one = choices.add_parser(name, help=told, description=told)
            add_common_arguments(one, formats=getattr(verb, "HAS_FORMATS", True))
            verb.add_arguments(one)

    def handle(self, **options: Any) -> None:
        out = Output(self.stdout, self.stderr, as_json=options.get("format") == "json")
        verb = find_verbs()[options["verb"]]
        try:
            if getattr(verb, "ASKS_DATABASE", True):
                keep_up()
            if "actor" in options:
                options["actor"] = who_acts(options["actor"])
            verb.handle(options | {"asked": self}, out)
        except (JobsError, PermissionDenied) as error:
            raise CommandError(str(error)) from error
        except (DatabaseError, InterfaceError) as error:
            raise cannot_answer(error) from error
        except BrokenPipeError:  # whoever read it has read enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more as it ends
            raise SystemExit(ERROR) from None
        except KeyboardInterrupt:
            raise CommandError("interrupted", returncode=INTERRUPTED) from None


def find_verbs() -> dict[str, Verb]:
    """The modules of the package, by name; a name that Python keeps for itself ends with `_` there."""
    names = sorted(module.name for module in iter_modules(verbs.__path__))
    return {name.rstrip("_"): cast(Verb, import_module(f"{verbs.__name__}.{name}")) for name in names}
