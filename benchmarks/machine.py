"""The facts without which a figure means nothing: what it was measured on."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import psycopg

ROOT = Path(__file__).resolve().parent.parent
SERVER_SETTINGS = ["server_version", "shared_buffers", "fsync", "synchronous_commit", "max_connections", "autovacuum"]


def facts(url: str | None) -> dict[str, Any]:
    """With those of the server that is measured, if there is one."""
    told = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()}",
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "django": version("Django"),
        "psycopg": version("psycopg"),
        "sqlite": sqlite3.sqlite_version,
        "commit": _commit(),
    }
    return told | ({"postgres": _server(url)} if url else {})


def _server(url: str) -> dict[str, str]:
    with psycopg.connect(url) as connection:
        shown = {name: connection.execute(f"SHOW {name}").fetchone() for name in SERVER_SETTINGS}
    return {name: row[0] for name, row in shown.items() if row}


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    names = [line for line in known.read_text().splitlines() if line.startswith("model name")] if known.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.processor()


def _commit() -> str:
    """With a plus when files differ from it."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--", "jobs_app") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
