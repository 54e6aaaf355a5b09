"""What the measured libraries need and nobody else: a virtualenv and node modules, in .local/bench of the checkout.

`python -m benchmarks.peers.installing` makes both. What cannot be had is said; the programs that need it are left out.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from scripts.matrix import find_python

HERE = Path(__file__).resolve().parent
HOME = HERE.parent.parent / ".local" / "bench"
REQUIREMENTS = HERE / "requirements.txt"
PACKAGE_JSON = HERE / "package.json"
VENV = HOME / "venv"
PYTHON = VENV / "bin" / "python"
MODULES = HOME / "node" / "node_modules"
NODE = MODULES / "node" / "bin" / "node"  # pg-boss needs a newer one than many systems have

PIP = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
INSTALLED = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"


def install() -> list[str]:
    """Make what is not there yet, and say what could not be had: a sentence each."""
    HOME.mkdir(parents=True, exist_ok=True)
    problems = [*_install_python(), *_install_node()]
    if missing_redis():
        problems.append(f"{missing_redis()} Celery, and Huey on Redis, cannot be measured.")
    _installed.cache_clear()
    return problems


def python_versions(*names: str) -> dict[str, str]:
    return {name: _installed().get(_normal(name), "") for name in names}


def node_versions(*names: str) -> dict[str, str]:
    return {name: _version_of_module(name) for name in names}


def missing_python(*names: str) -> str:
    return _missing(python_versions(*names), "the virtualenv")


def missing_node(*names: str) -> str:
    return _missing(node_versions(*names), "the node modules") or ("" if NODE.exists() else f"There is no {NODE}.")


def missing_redis() -> str:
    return "" if shutil.which("redis-server") else "There is no redis-server on PATH."


def _install_python() -> list[str]:
    if not _has_changed(REQUIREMENTS, VENV):
        return []
    python = find_python("3.12") or find_python("3.13") or sys.executable
    _say(f"Making {VENV} with {python} ...")
    made = _run([python, "-m", "venv", "--clear", str(VENV)], HOME)
    if not made:
        return [f"{python} could not make a virtualenv. No library in Python can be measured."]
    refused = [] if _run([*PIP, "-r", str(REQUIREMENTS)], HOME) else _install_one_by_one()
    if not refused:
        _remember(REQUIREMENTS, VENV)
    return [f"pip could not install {wanted}." for wanted in refused]


def _install_one_by_one() -> list[str]:
    """One that cannot be had is no reason to do without the others."""
    lines = (line.partition("#")[0].strip() for line in REQUIREMENTS.read_text().splitlines())
    return [line for line in lines if line and not _run([*PIP, line], HOME)]


def _install_node() -> list[str]:
    folder = MODULES.parent
    npm = shutil.which("npm")
    if not _has_changed(PACKAGE_JSON, folder):
        return []
    if npm is None:
        return ["There is no npm on PATH. Graphile Worker and pg-boss cannot be measured."]
    folder.mkdir(exist_ok=True)
    shutil.copy(PACKAGE_JSON, folder)
    _say(f"Installing node modules into {folder} ...")
    if not _run([npm, "install", "--no-audit", "--no-fund"], folder):
        return ["npm could not install. Graphile Worker and pg-boss cannot be measured."]
    if not NODE.exists():
        # npm runs no script of a package that was not approved, and that of `node` fetches the binary.
        _run([npm, "install-scripts", "approve", "node"], folder)
        _run([npm, "rebuild", "node"], folder)
    if not NODE.exists():
        return ["npm could not fetch Node itself. Graphile Worker and pg-boss cannot be measured."]
    _remember(PACKAGE_JSON, folder)
    return []


def _has_changed(wanted: Path, folder: Path) -> bool:
    done = folder / "installed.txt"
    return not done.exists() or done.read_text() != wanted.read_text()


def _remember(wanted: Path, folder: Path) -> None:
    (folder / "installed.txt").write_text(wanted.read_text())


def _run(command: Sequence[str], folder: Path) -> bool:
    """Its own lines are the progress."""
    began = time.monotonic()
    code = subprocess.run(command, cwd=folder, stdout=sys.stderr, check=False).returncode
    _say(f"{'done' if code == 0 else 'FAILED'} after {time.monotonic() - began:.0f} s: {' '.join(command[:6])}")
    return code == 0


def _missing(versions: dict[str, str], where: str) -> str:
    absent = [name for name, version in versions.items() if not version]
    return f"{', '.join(absent)} is not in {where}; `python -m benchmarks.peers.installing` makes it." if absent else ""


@functools.cache
def _installed() -> dict[str, str]:
    if not PYTHON.exists():
        return {}
    listed = subprocess.run([str(PYTHON), "-c", INSTALLED], capture_output=True, text=True, check=True).stdout
    return {_normal(name): version for name, version in json.loads(listed).items()}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _version_of_module(name: str) -> str:
    described = MODULES / name / "package.json"
    return str(json.loads(described.read_text())["version"]) if described.exists() else ""


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """What is missing is no failure: the others can be measured."""
    for problem in install() or ["Nothing is missing."]:
        _say(f"==== {problem}")


if __name__ == "__main__":
    main()
