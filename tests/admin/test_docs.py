"""The page about the control plane tells of every permission and every picture it shows is there."""

from __future__ import annotations

import re
from pathlib import Path

from jobs_app.models import Dashboard

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGE = (DOCS / "admin.md").read_text()
SAID_ELSEWHERE = {"prune_history"}  # with what it is for


def test_every_permission_is_told() -> None:
    told = set(re.findall(r"`(\w+)`", PAGE))
    assert {codename for codename, _ in Dashboard._meta.permissions} - SAID_ELSEWHERE <= told


def test_every_picture_is_there() -> None:
    shown = re.findall(r"\]\((images/[\w.]+)\)", PAGE)
    shown += [
        name.removeprefix("docs/")
        for name in re.findall(r"\]\((docs/images/[\w.]+)\)", (DOCS.parent / "README.md").read_text())
    ]
    assert shown
    assert [name for name in shown if not (DOCS / name).exists()] == []
