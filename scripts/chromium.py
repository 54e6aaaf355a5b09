"""Finds the system's Chromium, which the browser tests drive, and installs it where that can be done."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
PACKAGES = ("chromium", "fonts-dejavu-core", "fonts-liberation")  # the fonts have Arabic and Hebrew letters, too
BANNER = "!" * 100
MISSING = (
    "THE BROWSER TESTS DO NOT RUN: no Chromium was found. "
    "Install the package `chromium`, or name an executable in CHROMIUM."
)
PATIENCE_SECONDS = 60


@cache
def find_chromium() -> str | None:
    """The first one that really starts: on some systems the name is only an advertisement for another package."""
    for name in filter(None, (os.environ.get("CHROMIUM"), *NAMES)):
        path = shutil.which(name)
        if path and _starts(path):
            return path
    return None


def install() -> bool:
    """Try the system's own packages; whether that was possible at all."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        subprocess.run(["apt-get", "-qq", *arguments], env=environment, stdout=subprocess.DEVNULL, check=False)
    find_chromium.cache_clear()
    return True


def is_required() -> bool:
    """Where nobody reads the output, what did not run must not look as if it had passed."""
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")


def told_loudly() -> str:
    return f"{BANNER}\n{MISSING}\n{BANNER}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--remind", action="store_true", help="install nothing; only say it again if there is none")
    options = parser.parse_args(arguments)
    if find_chromium() is None and not options.remind:
        print("Installing the system's Chromium for the browser tests ...", flush=True)
        install()
    if find_chromium() is not None:
        return 0
    print(told_loudly(), file=sys.stderr)
    return 1 if is_required() else 0


def _starts(path: str) -> bool:
    try:
        asked = subprocess.run([path, "--version"], capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
