"""The catalogue of measured libraries tells the truth about its files, and names what it has to leave out."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.peers import installing
from benchmarks.peers.catalogue import PROGRAMS
from benchmarks.program_description import REDIS, REDIS_AND_POSTGRES, Program

PEERS = Path(installing.__file__).parent
EACH = pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(installing, "HOME", tmp_path)
    monkeypatch.setattr(installing, "VENV", tmp_path / "venv")
    monkeypatch.setattr(installing, "PYTHON", tmp_path / "venv" / "bin" / "python")
    monkeypatch.setattr(installing, "MODULES", tmp_path / "node" / "node_modules")
    monkeypatch.setattr(installing, "NODE", tmp_path / "node" / "node_modules" / "node" / "bin" / "node")
    installing._installed.cache_clear()
    yield
    installing._installed.cache_clear()


@pytest.fixture
def no_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "redis-server" else which(name))


def file_of(program: Program) -> Path:
    last = program.argv()[-1]
    return Path(last) if last.endswith(".mjs") else PEERS / f"{last.removeprefix('benchmarks.peers.')}.py"


@EACH
def test_a_program_is_a_file_that_begins_by_saying_what_its_profiles_are(program: Program) -> None:
    text = file_of(program).read_text()
    beginning = text.split('"""')[1] if text.startswith('"""') else text.partition("\nimport")[0]
    assert "tuned profile" in beginning
    assert set(program.profiles) == {"tuned", "default"}


@EACH
def test_what_is_unsettled_is_counted_in_one_place_only(program: Program) -> None:
    assert (program.remaining is None) == bool(program.redis_remaining)


@EACH
@pytest.mark.usefixtures("nothing_installed")
def test_every_recorded_version_is_pinned(program: Program) -> None:
    pinned = set(json.loads(installing.PACKAGE_JSON.read_text())["dependencies"])
    pinned |= set(re.findall(r"^([\w.-]+)(?:\[\w+\])?==", installing.REQUIREMENTS.read_text(), flags=re.MULTILINE))
    assert set(program.versions()) <= pinned


@EACH
@pytest.mark.usefixtures("nothing_installed")
def test_a_program_whose_library_is_not_installed_says_so(program: Program) -> None:
    assert "benchmarks.peers.installing" in program.missing() or "redis-server" in program.missing()


@EACH
@pytest.mark.usefixtures("no_redis")
def test_without_redis_those_that_need_it_are_named(program: Program) -> None:
    needs_redis = bool({REDIS, REDIS_AND_POSTGRES} & set(program.stores))
    assert ("redis-server" in program.missing()) == needs_redis


@pytest.mark.usefixtures("nothing_installed", "no_redis")
def test_one_package_that_cannot_be_had_is_named_and_the_others_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def run(command: list[str], folder: Path) -> bool:
        tried.append(command[-1])
        return command[-1] != str(installing.REQUIREMENTS) and not command[-1].startswith("uvloop")

    monkeypatch.setattr(installing, "_run", run)
    problems = installing.install()
    assert [problem for problem in problems if "pip" in problem] == ["pip could not install uvloop==0.23.0."]
    assert any("redis-server" in problem for problem in problems)
    assert any("pg-boss" in problem for problem in problems)  # no npm, or it ran and there is no Node
    assert {"huey==3.5.4", "redis==8.1.0"} <= set(tried)


@pytest.mark.usefixtures("nothing_installed")
def test_what_is_installed_is_not_installed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted, folder in (
        (installing.REQUIREMENTS, installing.VENV),
        (installing.PACKAGE_JSON, installing.MODULES.parent),
    ):
        folder.mkdir(parents=True)
        installing._remember(wanted, folder)
    monkeypatch.setattr(installing, "_run", lambda command, folder: pytest.fail(f"ran {command}"))
    assert all("redis-server" in problem for problem in installing.install())
