"""Print files for what runs and watches jobs: units, manifests, alerts, a dashboard. From then on they are yours."""

from __future__ import annotations

import argparse
import math
import re
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from jobs_app.apps import project_packages
from jobs_app.conf import get_settings, settings_or_defaults
from jobs_app.management.arguments import add_common_arguments, names, port, positive, seconds
from jobs_app.management.exports import alerts, grafana, kubernetes, systemd
from jobs_app.management.exports.files import File, write
from jobs_app.management.exports.plan import Plan
from jobs_app.management.output import Output

ASKS_DATABASE = False
METRICS_PORT = 9090
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")  # a unit and, with a suffix, a host's name may be called so
WORD = re.compile(r"[\w.:/@+-]+", re.ASCII)  # a user or an image


def add_arguments(parser: CommandParser) -> None:
    kinds = parser.add_subparsers(dest="kind", metavar="kind", required=True)
    for name, (told, add_own, _) in KINDS.items():
        one = kinds.add_parser(name, help=told, description=told)
        add_common_arguments(one)
        add_own(one)
        one.add_argument("--output", type=Path, metavar="DIR", help="write files there instead of printing them")
        one.add_argument("--force", action="store_true", help="with --output: overwrite what is there")


def handle(options: dict[str, Any], out: Output) -> None:
    _, _, make = KINDS[options["kind"]]
    files = make(options)
    if options["output"] is not None:
        for path in write(files, options["output"], force=options["force"]):
            out.note(f"{path} written.")
    if out.as_json:
        out.json({"files": [file._asdict() for file in files]})
    elif options["output"] is None:
        _print(files, out)


def _print(files: list[File], out: Output) -> None:
    """One as it is, so that it can be piped; several with their names, as comments."""
    for place, file in enumerate(files):
        if place:
            out.line()
        if len(files) > 1:
            out.line(f"# {file.name}")
        out.line(file.content)


def _add_plan(parser: CommandParser, *, replicas: int) -> None:
    add, grace = parser.add_argument, math.ceil(settings_or_defaults().grace_seconds)
    add("--name", type=label, default=_project(), help="in front of all names; %(default)s if left out")
    add("--queues", type=names, default=(), metavar="A,B", help="queues or patterns to serve; all if left out")
    add("--concurrency", type=positive, metavar="N", help="jobs at once in a worker; as the settings say if left out")
    add("--replicas", type=positive, default=replicas, metavar="N", help="how many workers; %(default)s if left out")
    add("--metrics-port", type=port, default=METRICS_PORT, metavar="PORT", help="%(default)s if left out")
    add("--grace", type=seconds, default=grace, metavar="TIME", help="to stop in; %(default)s seconds if left out")


def _add_systemd(parser: CommandParser) -> None:
    add = parser.add_argument
    _add_plan(parser, replicas=1)
    add("--user", type=word, help="who they run as; the name if left out")
    add("--directory", type=path, default=Path.cwd(), help="where manage.py is; here if left out")
    add("--python", type=path, default=sys.executable, help="the interpreter; this one if left out")


def _systemd(options: dict[str, Any]) -> list[File]:
    user = options["user"] or options["name"]
    return systemd.make(_plan(options), user=user, directory=str(options["directory"]), python=str(options["python"]))


def _add_kubernetes(parser: CommandParser) -> None:
    _add_plan(parser, replicas=2)
    parser.add_argument("--image", type=word, help="of the project; NAME:latest if left out")
    parser.add_argument("--namespace", type=label, help="that of kubectl if left out")


def _kubernetes(options: dict[str, Any]) -> list[File]:
    image = options["image"] or f"{options['name']}:latest"
    return kubernetes.make(_plan(options), image=image, namespace=options["namespace"])


def _plan(options: dict[str, Any]) -> Plan:
    chosen = {name: options[name] for name in ("name", "queues", "concurrency", "metrics_port", "replicas")}
    return Plan(grace=math.ceil(options["grace"]), **chosen)


def _project() -> str:
    """The project's package, as a name for units and hosts."""
    package = (project_packages() or ["project"])[-1]
    return re.sub(r"[^a-z0-9]+", "-", package.lower()).strip("-")[:40].strip("-") or "project"


def label(text: str) -> str:
    if LABEL.fullmatch(text):
        return text
    raise argparse.ArgumentTypeError(f"use up to 40 small letters, digits and dashes, as my-shop, not {text!r}")


def word(text: str) -> str:
    if WORD.fullmatch(text):
        return text
    raise argparse.ArgumentTypeError(f"use one plain word, not {text!r}")


def path(text: str) -> Path:
    if text.isprintable() and Path(text).is_absolute():
        return Path(text)
    raise argparse.ArgumentTypeError(f"use a whole path, from /, not {text!r}")


def _add_nothing(parser: CommandParser) -> None: ...


KINDS = {
    "systemd": ("Units: a worker as often as wanted, a scheduler, a target for all.", _add_systemd, _systemd),
    "kubernetes": ("Manifests: a migration, workers, schedulers.", _add_kubernetes, _kubernetes),
    "alerts": ("Rules for Prometheus.", _add_nothing, lambda options: alerts.make(get_settings())),
    "grafana": ("A dashboard for Grafana.", _add_nothing, lambda options: grafana.make()),
}
