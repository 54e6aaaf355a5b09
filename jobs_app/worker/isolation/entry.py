"""The first steps of a child: Django, and then everything that needs it."""

from __future__ import annotations

import faulthandler
import socket

import django

from jobs_app.tasks_backend.discovery import load_urls
from jobs_app.worker.isolation import kernel
from jobs_app.worker.isolation.channel import Channel


def run_handler_process(end: socket.socket, log: tuple[int, str]) -> int:
    """Load the project, say that it is ready, and work until the worker closes the channel."""
    kernel.adopt_orphans()
    kernel.offer_to_oom_killer()
    faulthandler.enable()  # the log then tells where a segmentation fault happened
    django.setup()
    load_urls()
    _work(Channel(end), log)
    return 0


def _work(channel: Channel, log: tuple[int, str]) -> None:
    from jobs_app import logs
    from jobs_app.worker import propagation, tidying
    from jobs_app.worker.isolation.child import Child

    logs.configure(*log)
    propagation.install()
    tidying.install()
    _use_one_connection()
    Child(channel).work()


def _use_one_connection() -> None:
    """One handler runs at a time: a pool of connections would hold some that nobody uses."""
    from django.db import connections

    for settings in connections.settings.values():
        settings.get("OPTIONS", {}).pop("pool", None)
