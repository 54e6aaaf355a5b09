"""What holds in every site that the wheel is installed into, whatever the Django, the database and the project are."""

from __future__ import annotations

import json
import re

from django.db import connection

from tests.dropin.conftest import Story

HASHED = re.compile(r"\.[0-9a-f]{12}\.\w+$")
TOLD_OF_ITS_LINE = {"no_worker", "system_checks"}  # nothing else is wrong with a site that has just begun


def ids(text: str) -> set[str]:
    return set(re.findall(r"\((\w+\.[EWI]\d+)\)", text))


def test_the_app_is_the_one_of_the_wheel(story: Story) -> None:
    assert story.installed["file"].startswith(str(story.site.environment.folder))


def test_the_checks_tell_of_what_the_site_chose_and_of_nothing_else(story: Story, is_elaborate: bool) -> None:
    told = story.installed["check"]
    late = {"jobs_app.W002"} if connection.vendor == "sqlite" else set()  # `startproject` writes no options
    assert (told["code"], ids(told["err"])) == (0, {"jobs_app.W004"} if is_elaborate else late)


def test_models_and_migrations_agree(story: Story) -> None:
    assert story.installed["makemigrations"]["code"] == 0
    assert "No changes detected" in story.installed["makemigrations"]["out"]


def test_a_job_of_the_project_is_run_by_a_worker_and_kept(story: Story) -> None:
    assert "Success: 1" in story.worked
    run = story.looked["shown"]["run"]
    assert (run["job_type"], run["status"], run["result"], run["attempts"]) == ("greet", "succeeded", "Hello Ada", 1)
    assert [each["id"] for each in story.looked["listed"]["runs"]] == [run["id"]]


def test_status_and_doctor_answer(story: Story) -> None:
    assert (story.looked["status"]["code"], story.looked["doctor"]["code"]) == (0, 7)
    assert "1 succeeded" in story.looked["status"]["out"]
    findings = json.loads(story.looked["doctor"]["out"])["findings"]
    assert {each["name"] for each in findings if each["level"] not in ("ok", "note")} <= TOLD_OF_ITS_LINE


def test_every_page_answers_a_superuser(story: Story, is_elaborate: bool) -> None:
    pages = story.looked["pages"]
    assert [page for page in pages if page["status"] != 200] == []
    assert len(pages) > (150 if is_elaborate else 75)


def test_a_member_of_a_ready_made_group_is_let_in(story: Story) -> None:
    assert story.installed["groups"]["code"] == 0
    assert story.looked["viewer"] == 200


def test_an_act_of_a_person_bears_their_name(story: Story) -> None:
    done = story.looked["paused"]
    assert done["status"] == 302
    assert done["pauses"] == [["default", "all@example.com", "a look at it"]]
    assert done["logged"] == ["all@example.com"]


def test_pages_of_one_admin_site_lead_to_no_other(story: Story) -> None:
    assert [page for page in story.looked["pages"] if page["strays"]] == []


def test_no_page_has_anything_inline(story: Story, is_elaborate: bool) -> None:
    pages = story.looked["pages"]
    assert [page for page in pages if page["inline"]] == []
    assert {page["policy"] for page in pages} == ({"default-src 'self'"} if is_elaborate else {""})


def test_static_files_are_found_by_the_names_they_were_collected_under(story: Story, is_elaborate: bool) -> None:
    used = {name for page in story.looked["pages"] for name in page["files"]}
    assert {name for name in used if not name.startswith("/static/")} == set()
    assert any(name.startswith("/static/jobs_app/jobs.") for name in used)
    if is_elaborate:
        root = story.site.folder / "static-root"
        assert {name for name in used if not HASHED.search(name)} == set()
        assert {name for name in used if not (root / name.removeprefix("/static/")).exists()} == set()
        assert len(story.looked["hashed"]) >= 8


def test_undone_nothing_of_it_is_left_and_the_site_goes_on(story: Story) -> None:
    assert (set(story.undone["codes"]), story.undone["left"]) == ({0}, [])
    check, *migrated, _ = story.after["outs"]
    assert "no issues" in check
    assert all("No migrations to apply" in text for text in migrated)
    assert (story.after["left"], story.after["permissions"]) == ([], 0)
