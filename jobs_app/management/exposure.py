"""How a worker or scheduler shows itself to monitoring: the same options for both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from jobs_app.management.arguments import port
from jobs_app.metrics.exposure import Exposure
from jobs_app.runtime.stopping import StopSignals


def add_exposure_arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("--metrics-port", type=port, metavar="PORT", help="serve /metrics, /livez and /readyz there")
    add("--metrics-host", default="0.0.0.0", metavar="ADDRESS", help="on this address of the host, %(default)s")
    told = "write there each second whether it is alive and ready, for python -m jobs_app.health"
    add("--heartbeat-file", type=Path, metavar="FILE", help=told)


def read_exposure(options: dict[str, Any], signals: StopSignals) -> Exposure:
    return Exposure(
        port=options["metrics_port"],
        host=options["metrics_host"],
        heartbeat_file=options["heartbeat_file"],
        is_hurried=lambda: signals.forced,
    )
