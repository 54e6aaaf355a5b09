"""The units for systemd."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest

from jobs_app.conf import get_settings
from jobs_app.management.exports.files import File, write
from jobs_app.management.exports.plan import Plan
from jobs_app.management.exports.systemd import make

VERIFY = shutil.which("systemd-analyze")


def plan(**chosen: Any) -> Plan:
    usual = {"name": "shop", "queues": (), "concurrency": None, "metrics_port": 9090, "grace": 25, "replicas": 2}
    return Plan(**usual | chosen)


def units(directory: str = "/srv/shop", python: str = sys.executable, **chosen: Any) -> list[File]:
    return make(plan(**chosen), user="root", directory=directory, python=python)


def read(files: list[File]) -> dict[str, ConfigParser]:
    found = {}
    for file in files:
        parser = ConfigParser(delimiters=["="], interpolation=None, strict=True)
        parser.optionxform = str  # type: ignore[assignment, method-assign]
        parser.read_string(file.content)
        found[file.name] = parser
    return found


def test_a_target_starts_the_scheduler_and_so_many_workers() -> None:
    found = read(units())
    assert set(found) == {"shop-worker@.service", "shop-scheduler.service", "shop-jobs.target"}
    wanted = found["shop-jobs.target"]["Unit"]["Wants"].split()
    assert wanted == ["shop-scheduler.service", "shop-worker@9091.service", "shop-worker@9092.service"]


@pytest.mark.parametrize("name", ["shop-worker@.service", "shop-scheduler.service"])
def test_a_service_is_restarted_and_has_time_to_stop(name: str) -> None:
    parsed = read(units(grace=300))[name]
    unit, service = parsed["Unit"], parsed["Service"]
    assert unit["PartOf"] == "shop-jobs.target"
    assert unit["StartLimitIntervalSec"] == "0"
    assert (service["Type"], service["KillMode"]) == ("simple", "mixed")
    assert (service["Restart"], service["RestartSec"]) == ("always", "5")
    assert "RestartPreventExitStatus" not in service
    assert int(service["TimeoutStopSec"]) > 300 + get_settings().final_scrape_seconds
    assert service["WorkingDirectory"] == "/srv/shop"
    assert service["EnvironmentFile"] == "-/etc/shop.env"
    assert (service["NoNewPrivileges"], service["PrivateTmp"], service["ProtectSystem"]) == ("true", "true", "full")


def test_each_worker_serves_its_metrics_on_the_port_that_names_it() -> None:
    found = read(units(queues=("mail", "sync.*"), concurrency=4))
    words = shlex.split(found["shop-worker@.service"]["Service"]["ExecStart"])
    assert words[:6] == [sys.executable, "manage.py", "jobs", "worker", "--metrics-port", "%i"]
    assert words[6:] == ["--grace", "25", "--queues", "mail,sync.*", "--concurrency", "4"]
    scheduler = shlex.split(found["shop-scheduler.service"]["Service"]["ExecStart"])
    assert scheduler[1:] == ["manage.py", "jobs", "scheduler", "--metrics-port", "9090"]


def test_paths_are_written_as_systemd_reads_them() -> None:
    service = read(units(directory="/srv/100% mine", python="/opt/my env/$x/python"))["shop-scheduler.service"][
        "Service"
    ]
    assert service["WorkingDirectory"] == "/srv/100%% mine"
    assert service["ExecStart"].startswith('"/opt/my env/$$x/python" manage.py ')


@pytest.mark.skipif(VERIFY is None, reason="systemd-analyze is not installed: systemd itself has not read the units")
def test_systemd_has_nothing_to_say_against_them(tmp_path: Path) -> None:
    write(units(directory=f"{tmp_path}/100% mine", queues=("sync.*",)), tmp_path, force=False)
    names = ["shop-jobs.target", "shop-scheduler.service", "shop-worker@9091.service"]
    command = [str(VERIFY), "verify", *names]
    answer = subprocess.run(
        command, cwd=tmp_path, env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:"}, capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stderr) == (0, "")
