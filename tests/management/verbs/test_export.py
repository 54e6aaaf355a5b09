"""`jobs export`. Nothing here may ask a database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError

from tests.management.calling import jobs, jobs_json

ROOT = Path(__file__).parents[3]
NAMES = {
    "systemd": ["tests-worker@.service", "tests-scheduler.service", "tests-jobs.target"],
    "kubernetes": ["tests-migrate.yaml", "tests-worker.yaml", "tests-scheduler.yaml"],
    "alerts": ["jobs-alerts.yaml"],
    "grafana": ["jobs-dashboard.json"],
}


@pytest.mark.parametrize("kind", NAMES)
def test_the_files_are_told_as_json_with_their_names(kind: str) -> None:
    told = jobs_json("export", kind)
    assert told["schema"] == 1
    assert [file["name"] for file in told["files"]] == NAMES[kind]
    assert all(file["content"].endswith("\n") for file in told["files"])


@pytest.mark.parametrize("kind", ["alerts", "grafana"])
def test_a_single_file_is_printed_as_it_is(kind: str) -> None:
    assert jobs("export", kind) == (jobs_json("export", kind)["files"][0]["content"], "")


@pytest.mark.parametrize("kind", ["systemd", "kubernetes"])
def test_several_are_printed_below_their_names(kind: str) -> None:
    data, words = jobs("export", kind)
    files = jobs_json("export", kind)["files"]
    assert data == "\n".join(f"# {file['name']}\n{file['content']}" for file in files)
    assert words == ""


def test_what_is_printed_for_kubernetes_can_be_piped_to_kubectl() -> None:
    documents = list(yaml.safe_load_all(jobs("export", "kubernetes")[0]))
    assert [document["kind"] for document in documents] == ["Job", "Deployment", "Deployment"]


@pytest.mark.parametrize("kind", NAMES)
def test_files_are_written_and_named(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "deploy"
    data, words = jobs("export", kind, "--output", folder)
    assert data == ""
    assert words.splitlines() == [f"{folder / name} written." for name in NAMES[kind]]
    told = {file["name"]: file["content"] for file in jobs_json("export", kind)["files"]}
    assert {path.name: path.read_text() for path in folder.iterdir()} == told


def test_nothing_is_overwritten_unless_forced(tmp_path: Path) -> None:
    mine = tmp_path / "tests-scheduler.service"
    mine.write_text("mine")
    with pytest.raises(CommandError, match=r"tests-scheduler\.service would be overwritten: .* or --force"):
        jobs("export", "systemd", "--output", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [mine.name]
    assert mine.read_text() == "mine"
    jobs("export", "systemd", "--output", tmp_path, "--force")
    assert "jobs scheduler" in mine.read_text()


def test_a_folder_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="the files cannot be written"):
        jobs("export", "alerts", "--output", tmp_path / "file" / "below")


def test_written_files_are_told_as_json_too(tmp_path: Path) -> None:
    assert [file["name"] for file in jobs_json("export", "grafana", "--output", tmp_path)["files"]] == NAMES["grafana"]
    assert (tmp_path / "jobs-dashboard.json").exists()


def test_what_is_not_said_comes_from_the_project_and_its_settings(settings: Any) -> None:
    settings.JOBS = {"GRACE_SECONDS": 119.5}
    worker = jobs_json("export", "systemd")["files"][0]["content"]
    assert f"ExecStart={sys.executable} manage.py jobs worker --metrics-port %i --grace 120\n" in worker
    assert f"WorkingDirectory={Path.cwd()}\n" in worker
    assert "User=tests\n" in worker
    manifest = jobs_json("export", "kubernetes")["files"][1]["content"]
    assert 'image: "tests:latest"' in manifest


def test_what_is_said_counts() -> None:
    common = ("--name", "my-shop", "--queues", "mail", "--concurrency", 4, "--metrics-port", 9200, "--grace", "2m")
    place = ("--user", "www-data", "--directory", "/srv/shop", "--python", "/srv/env/bin/python", "--replicas", 3)
    worker, _, target = (file["content"] for file in jobs_json("export", "systemd", *common, *place)["files"])
    command = "manage.py jobs worker --metrics-port %i --grace 120 --queues mail --concurrency 4\n"
    assert f"ExecStart=/srv/env/bin/python {command}" in worker
    assert "User=www-data\nWorkingDirectory=/srv/shop\nEnvironmentFile=-/etc/my-shop.env\n" in worker
    assert "my-shop-worker@9203.service\n" in target
    cluster = jobs_json("export", "kubernetes", *common, "--image", "shop:7", "--namespace", "prod")["files"]
    manifest = yaml.safe_load(cluster[1]["content"])
    assert (manifest["metadata"]["name"], manifest["metadata"]["namespace"]) == ("my-shop-worker", "prod")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: kind"),
        (["nomad"], "invalid choice: 'nomad'"),
        (["systemd", "--name", "My Shop"], "--name: use up to 40 small letters, digits and dashes, as my-shop"),
        (["systemd", "--user", "a\nb"], "--user: use one plain word"),
        (["systemd", "--directory", "srv"], "--directory: use a whole path, from /, not 'srv'"),
        (["systemd", "--python", "/a\nExecStart=/b"], "--python: use a whole path"),
        (["kubernetes", "--image", "a b"], "--image: use one plain word"),
        (["kubernetes", "--replicas", "0"], "--replicas: use a whole number above 0"),
    ],
)
def test_what_cannot_be_read_is_an_error(arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        jobs("export", *arguments)


def test_it_works_while_the_database_is_down(tmp_path: Path) -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    environment["DATABASE_URL"] = "postgresql://nobody@127.0.0.1:1/nothing"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", "jobs", "export", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    printed = run("grafana")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert json.loads(printed.stdout)["uid"] == "jobs-app"
    (tmp_path / "jobs-alerts.yaml").touch()
    assert [run("alerts", "--output", str(tmp_path)).returncode, run("alarms").returncode] == [1, 2]
