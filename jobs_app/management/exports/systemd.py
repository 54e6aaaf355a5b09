"""Units for systemd: a worker as often as wanted, a scheduler, and a target that is all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import Template

from jobs_app.management.exports.files import File
from jobs_app.management.exports.plan import Plan

# Restart=always also after exit code 75, for a database that is away; no start limit, since that may take hours.
# KillMode=mixed asks only the main process to stop, which looks after its children; what is left is killed at the end.
SERVICE = Template("""\
[Unit]
Description=$description
PartOf=$name-jobs.target
Wants=network-online.target
After=network-online.target postgresql.service
StartLimitIntervalSec=0

[Service]
Type=simple
User=$user
WorkingDirectory=$directory
EnvironmentFile=-/etc/$name.env
ExecStart=$command
Restart=always
RestartSec=5
KillMode=mixed
TimeoutStopSec=$stop_seconds
NoNewPrivileges=true
PrivateTmp=true
ProtectSystem=full

[Install]
WantedBy=$name-jobs.target
""")
TARGET = Template("""\
[Unit]
Description=Workers and scheduler of $name
Wants=$services

[Install]
WantedBy=multi-user.target
""")
INSTANCE = "%i"  # systemd puts what stands behind the @ there; for workers it is the port of their metrics
PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


def make(plan: Plan, *, user: str, directory: str, python: str) -> list[File]:
    """The scheduler has the metrics port itself, workers the ports after it."""

    def service(description: str, words: Sequence[str]) -> str:
        program = [_word(text) for text in (python, "manage.py")]
        return SERVICE.substitute(
            name=plan.name,
            description=description,
            user=user,
            directory=directory.replace("%", "%%"),
            command=" ".join([*program, *words]),
            stop_seconds=plan.stop_seconds,
        )

    words = [text if text == INSTANCE else _word(text) for text in plan.worker(INSTANCE)]
    worker = service(f"Jobs worker of {plan.name}, metrics on port {INSTANCE}", words)
    scheduler = service(f"Jobs scheduler of {plan.name}", plan.scheduler(plan.metrics_port))
    return [
        File(f"{plan.name}-worker@.service", worker),
        File(f"{plan.name}-scheduler.service", scheduler),
        File(f"{plan.name}-jobs.target", TARGET.substitute(name=plan.name, services=" ".join(_services(plan)))),
    ]


def _services(plan: Plan) -> list[str]:
    workers = [f"{plan.name}-worker@{plan.metrics_port + place}.service" for place in range(1, plan.replicas + 1)]
    return [f"{plan.name}-scheduler.service", *workers]


def _word(text: str) -> str:
    """One word of a command line, as systemd reads it."""
    text = text.replace("%", "%%")
    if PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"'
