"""The examples of docs/testing.md are a project, and its tests pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import jobs_app.testing

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "testing.md").read_text()
FILES = dict(re.findall(r"^```python\n# (\S+\.py)\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE))
SETTINGS = """
SECRET_KEY = "for tests only"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
INSTALLED_APPS = ["shop", "jobs_app"]
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
MAILERS = {"default": {"BACKEND": "django.core.mail.backends.locmem.EmailBackend"}}  # Django 6.1 warns without
"""


def test_the_examples_pass(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    for name, text in {**FILES, "shop/__init__.py": "", "shop/settings.py": SETTINGS}.items():
        (tmp_path / name).write_text(text)
    plugins = ("-p", "jobs_app.pytest_plugin", "-p", "no:jobs_app", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", *plugins]
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    environment = {**os.environ, "PYTHONPATH": path, "DJANGO_SETTINGS_MODULE": "shop.settings"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{PAGE.count('    def test_') + PAGE.count(chr(10) + 'def test_')} passed" in done.stdout


def test_the_page_names_every_helper() -> None:
    words = set(re.findall(r"\w+", PAGE))

    assert set(jobs_app.testing.__all__) - {"Clock", "RanJobs"} <= words
    assert {"EndlessJobs", "EAGER", "captureOnCommitCallbacks"} <= words
