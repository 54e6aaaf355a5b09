"""Clean virtual environments outside the checkout, with the wheel and one Django, as a project would have them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from scripts.matrix import OLDEST_PYTHON, PYTHONS, find_python

LEFT_OUT = "NO DROP-IN TEST"  # how the reason of a skip begins, so that the end of a run can tell it again
RUNNING = sys.version_info[:2]
HIDDEN = ("DATABASE_URL", "DJANGO_SETTINGS_MODULE", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")


@dataclass(frozen=True)
class Environment:
    folder: Path
    django: str

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def run(self, *command: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """A command of its Python that must succeed."""
        surroundings = {name: value for name, value in os.environ.items() if name not in HIDDEN}
        done = subprocess.run(
            [str(self.python), *command],
            cwd=cwd,
            env=surroundings | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        told = f"{' '.join(command)} ended with {done.returncode} on Django {self.django}"
        assert done.returncode == 0, f"{told}:\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stdout + done.stderr, f"{told}:\n{done.stdout}\n{done.stderr}"
        return done


def interpreter_for(django: str) -> str | None:
    """One that this Django runs on: ours where it can be, else the oldest that is found."""
    oldest = OLDEST_PYTHON[django]
    if _key(oldest) <= RUNNING:
        return sys.executable
    fitting = [version for version in PYTHONS if _key(version) >= _key(oldest)]
    return next(filter(None, map(find_python, fitting)), None)


def make_environment(folder: Path, python: str, django: str, wheel: Path) -> Environment:
    """Our pip installs into it, which is quicker than giving it one of its own."""
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
    made = Environment(folder, django)
    # A file is compiled when it is first imported: most never are.
    install = [sys.executable, "-m", "pip", "--python", str(made.python), "install", "-qq", "--no-compile"]
    # As a project has it: its Django is there before us, and stays the one that it was.
    for wanted in ([f"Django~={django}.0"], [str(wheel), "psycopg[binary]"]):
        done = subprocess.run([*install, *wanted], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{wanted} could not be installed:\n{done.stderr}"
    version = made.run("-c", "import django; print(django.__version__)", cwd=folder).stdout
    assert version.startswith(f"{django}."), f"the Django {django} of the project became {version}"
    return made


def _key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
