"""The whole site in one terminal: demo data, web, worker, scheduler and what the examples need, until Ctrl-C."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from jobsite import demo_data
from jobsite.database import without_secrets
from jobsite.processes import Processes, free_port

GRACE_SECONDS = 3
HOST = "127.0.0.1"


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("The demo makes an admin user with a printed password: set DEBUG=1 if that is wanted.")
        call_command("migrate", verbosity=0, interactive=False)
        password = demo_data.make_admin()
        demo_data.fill()
        port = free_port(HOST, int(os.environ.get("PORT", "8000")))
        with tempfile.TemporaryDirectory(prefix="jobs-demo-") as folder:
            self._run([_programs(), _web(port), _site() | _companions(port, Path(folder))], port, password)
        self.stdout.write("Stopped.")

    def _run(self, groups: list[dict[str, list[str]]], port: int, password: str) -> None:
        with Processes(*groups) as processes:
            if processes.wait_for_port(HOST, port):
                self._announce(port, password)
            ended = processes.wait()
        if ended:
            raise CommandError(f"{ended}; stopped the others.")

    def _announce(self, port: int, password: str) -> None:
        self.stdout.write(
            f"\n  The site    http://{HOST}:{port}/   what to look at"
            f"\n  The admin   http://{HOST}:{port}/admin/jobs_app/dashboard/"
            f"\n  Log in as   {demo_data.ADMIN_NAME}   password   {password}   (a new one at each start)"
            f"\n  Beside it   {' '.join(self._beside())}"
            "\n  Ctrl-C stops all of it. What is killed is started again.\n"
        )
        self.stdout.flush()

    def _beside(self) -> list[str]:
        """A command for another terminal, with what this one was given by `make`."""
        url = os.environ.get("DATABASE_URL")
        return [
            "DEBUG=1",
            *([f"DATABASE_URL={without_secrets(url)}"] if url else []),
            os.path.relpath(sys.executable),
            "manage.py jobs status",
        ]


def _programs() -> dict[str, list[str]]:
    """What stands in for the world outside. Everybody who is started later learns their addresses."""
    commands = {}
    for demo in demo_data.demos().values():
        for name, program in getattr(demo, "PROGRAMS", {}).items():
            port = free_port(HOST, program.port)
            os.environ[program.address] = f"{program.scheme}://{HOST}:{port}/"
            commands[name] = [sys.executable, "-m", program.module, "--port", str(port)]
    return commands


def _web(port: int) -> dict[str, list[str]]:
    return {"web": _manage("runserver", f"{HOST}:{port}", "--noreload")}


def _site() -> dict[str, list[str]]:
    return {
        "worker": _manage("runworker", "--grace", str(GRACE_SECONDS)),
        "scheduler": _manage("runscheduler"),
    }


def _companions(port: int, folder: Path) -> dict[str, list[str]]:
    """Programs that talk to the site, such as remote workers."""
    demos = [demo for demo in demo_data.demos().values() if hasattr(demo, "companions")]
    return {
        name: command for demo in demos for name, command in demo.companions(f"http://{HOST}:{port}/", folder).items()
    }


def _manage(*arguments: str) -> list[str]:
    return [sys.executable, sys.argv[0], *arguments]
