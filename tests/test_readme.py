"""What the README shows is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from jobs_app.errors import PayloadInvalid
from jobs_app.models import Job
from jobsite.database import SQLITE_OPTIONS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^( *)```python\n(.*?)^ *```", README, flags=re.DOTALL | re.MULTILINE)
FIRST_JOB, ENQUEUE, SETTINGS = (re.sub(f"^{indent}", "", code, flags=re.MULTILINE) for indent, code in BLOCKS)


@pytest.fixture
def shop() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "shop.jobs"}
    exec(FIRST_JOB, names)
    return names


@pytest.mark.django_db
def test_the_first_job_can_be_enqueued_as_shown(shop: dict[str, Any]) -> None:
    without_a_worker = re.sub(r"^run\.wait.*", "", ENQUEUE, flags=re.MULTILINE)
    exec(without_a_worker, shop)

    assert set(Job.objects.values_list("job_type", "queue", "max_attempts")) == {("send_welcome_email", "mail", 4)}
    assert list(Job.objects.order_by("run_at").values_list("payload", "priority")) == [
        ({"user_id": 7}, 0),
        ({"user_id": 8}, 5),
    ]


@pytest.mark.django_db
def test_the_payload_that_would_be_refused_is_refused(shop: dict[str, Any]) -> None:
    with pytest.raises(PayloadInvalid):
        shop["send_welcome_email"].enqueue(user_id="7")


def test_the_first_job_has_ten_lines_at_most() -> None:
    assert len(FIRST_JOB.splitlines()) <= 10


def test_the_options_for_sqlite_are_those_that_the_demo_and_the_tests_use() -> None:
    names: dict[str, Any] = {"DATABASES": {"default": {}}}
    exec(SETTINGS, names)

    assert names["DATABASES"]["default"]["OPTIONS"] == SQLITE_OPTIONS
    assert "jobs_app" in names["INSTALLED_APPS"]
    assert "jobs_app" in settings.INSTALLED_APPS


def test_the_page_about_installation_has_the_same_options() -> None:
    page = (ROOT / "docs" / "installation.md").read_text()
    [code] = re.findall(r"^```python\n(DATABASES = .*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["DATABASES"]["default"]["OPTIONS"] == SQLITE_OPTIONS


FOLDERS = "jobs_app|jobsite|examples|templates|tests|scripts|docs"


@pytest.mark.parametrize("path", re.findall(rf"`((?:{FOLDERS})/[\w/.]*)`", README))
def test_every_path_it_names_exists(path: str) -> None:
    assert (ROOT / path).exists()
