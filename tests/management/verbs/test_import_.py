"""`jobs import`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from jobs_app import job
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import ControlEvent, ScheduleState
from tests.importing.foreign import NOW, crontab, every, make_tables, put_schedule, put_task
from tests.management.ending import ended, user_who_may

pytestmark = pytest.mark.django_db


def send_report(to: str, password: str = "") -> None: ...


@pytest.fixture(autouse=True)
def a_shop() -> Iterator[None]:
    job(name="import-report")(send_report)
    with frozen_clock(NOW):
        yield


@pytest.fixture
def beat() -> None:
    make_tables("django_celery")
    common = {"interval_id": every(15, "minutes"), "last_run_at": NOW - timedelta(minutes=5)}
    put_task("Every quarter", f"{__name__}.send_report", args='["ann"]', kwargs='{"password": "x"}', **common)
    put_task("Mornings", "import-report", args='["bob"]', crontab_id=crontab(timezone="Europe/Paris"), enabled=False)


def test_a_dry_run_tells_and_writes_nothing(beat: None) -> None:
    answer = ended("import", "celery-beat", "--dry-run")
    headers, quarter, mornings = (line.split("  ") for line in answer.data.splitlines())
    cells = [[cell.strip() for cell in line if cell.strip()] for line in (headers, quarter, mornings)]
    assert cells[0] == ["OLD NAME", "JOB TYPE", "NAME", "WHEN", "NEXT", "THEN", "PAYLOAD", "PAUSED", "STATE"]
    moments = ["2026-06-10 12:10:00Z", "2026-06-10 12:25:00Z"]
    payload = '{"to": "ann", "password": "[hidden]"}'
    told = ["Every quarter", "import-report", "Every-quarter", "every 15 minutes", *moments, payload, "no", "new"]
    assert cells[1] == told
    assert cells[2][3:5] == ["every day at 09:00, Europe/Paris", "2026-06-11 07:00:00Z"]
    assert cells[2][-2:] == ["yes", "new"]
    assert answer.words == "2 new.\nNothing was changed: leave --dry-run out to do it.\n"
    assert answer.code == 0
    assert not ScheduleState.objects.exists()
    assert not ControlEvent.objects.exists()


def test_what_was_made_is_told_and_what_to_do_next(beat: None) -> None:
    answer = ended("import", "celery-beat", "--actor", "cli:ann")
    made, following = answer.words.splitlines()
    assert (answer.code, made) == (0, "2 made.")
    assert following.startswith("Next: stop celery beat if it still runs, or each run comes twice;")
    assert set(ScheduleState.objects.values_list("name", "paused")) == {("Every-quarter", False), ("Mornings", True)}
    added = ControlEvent.objects.filter(action="add")
    assert set(added.values_list("actor", "reason")) == {("cli:ann", "imported from celery-beat")}


def test_again_it_changes_nothing(beat: None) -> None:
    ended("import", "celery-beat")
    answer = ended("import", "celery-beat")
    assert (answer.code, answer.words) == (0, "2 already there.\n")


def test_paused_first_and_then_on_with_update(beat: None) -> None:
    answer = ended("import", "celery-beat", "--paused")
    assert "Next: stop celery beat; then manage.py jobs import celery-beat --update" in answer.words
    assert set(ScheduleState.objects.values_list("paused", flat=True)) == {True}
    answer = ended("import", "celery-beat")
    assert answer.code == 4
    assert "1 left as here, though different there: change with --update" in answer.words
    assert ended("import", "celery-beat", "--update", "--dry-run").code == 0
    assert ended("import", "celery-beat", "--update").code == 0
    assert set(ScheduleState.objects.values_list("name", "paused")) == {("Every-quarter", False), ("Mornings", True)}


def test_rows_that_cannot_be_are_listed_with_the_reason_and_the_others_are_made(beat: None) -> None:
    put_task("Old", "shop.tasks.send_report", interval_id=every(1, "days"))
    put_task("celery.backend_cleanup", "celery.backend_cleanup", interval_id=every(1, "days"))
    answer = ended("import", "celery-beat")
    assert answer.code == 4
    old, cleanup = answer.data.splitlines()[-2:]
    assert old.split()[:5] == ["Old", "shop.tasks.send_report", "cannot", "be", "imported"]
    assert old.endswith("Then say --map shop.tasks.send_report=import-report")
    assert "left out" in cleanup
    assert "2 made, 1 cannot be imported, 1 left out." in answer.words
    assert ScheduleState.objects.count() == 2


def test_an_old_name_is_mapped(beat: None) -> None:
    put_task("Old", "shop.tasks.send", interval_id=every(1, "days"), args='["eve"]')
    assert ended("import", "celery-beat", "--map", "shop.tasks.send=import-report").code == 0
    assert ScheduleState.objects.get(name="Old").payload == {"to": "eve"}


def test_json_for_programs(beat: None) -> None:
    put_task("Old", "shop.tasks.x", interval_id=every(1, "days"))
    answer = ended("import", "celery-beat", "--dry-run", "--format", "json")
    assert answer.code == 4
    told = answer.json
    quarter, _, old = told.pop("schedules")
    counts = {"new": 2, "cannot be imported": 1}
    assert told == {"schema": 1, "source": "celery-beat", "dry_run": True, "counts": counts}
    assert quarter == {
        "old_name": "Every quarter",
        "task": f"{__name__}.send_report",
        "state": "new",
        "why": "",
        "id": None,
        "differences": [],
        "notes": [],
        "job_type": "import-report",
        "name": "Every-quarter",
        "when": "every 15m",
        "timezone": None,
        "words": "every 15 minutes",
        "next": [f"2026-06-10T12:{minute}:00+00:00" for minute in (10, 25, 40)],
        "payload": {"to": "ann", "password": "[hidden]"},
        "paused": False,
    }
    assert quarter.keys() == old.keys()
    assert (old["state"], old["job_type"], old["next"]) == ("cannot be imported", None, None)
    assert old["why"].startswith("no job type has the name or the function shop.tasks.x")


def test_django_q2() -> None:
    make_tables("django_q")
    put_schedule("import-report", name="q", args="'ann'", schedule_type="H", next_run=NOW - timedelta(hours=2))
    answer = ended("import", "django-q2", "--skip-missed")
    assert (answer.code, answer.words.splitlines()[0]) == (0, "1 made.")
    assert "stop qcluster" in answer.words
    assert ScheduleState.objects.get().next_run_at == NOW


def test_a_missed_single_run_is_made_up_for_or_left_out() -> None:
    make_tables("django_q")
    put_schedule("import-report", name="q", args="'ann'", schedule_type="O", next_run=NOW - timedelta(hours=2))
    skipped = ended("import", "django-q2", "--skip-missed")
    assert (skipped.code, skipped.words.splitlines()[0]) == (0, "1 left out.")
    answer = ended("import", "django-q2")
    assert (answer.code, answer.words.splitlines()[1]) == (0, "1 made.")
    assert answer.words.startswith("q: it was due at 2026-06-10 10:00:00Z, which is made up for at once;")
    assert ScheduleState.objects.get().next_run_at == NOW - timedelta(hours=2)


def test_one_odd_row_does_not_keep_the_others_back() -> None:
    make_tables("django_q")
    put_schedule("import-report", name="never", args="'ann'", schedule_type="D", next_run=NOW.replace(year=9999))
    put_schedule("import-report", name="q", args="'ann'", schedule_type="H", next_run=NOW)
    answer = ended("import", "django-q2")
    assert (answer.code, answer.words.splitlines()[0]) == (4, "1 made, 1 cannot be imported.")
    assert "its next_run 9999-06-10 12:00:00+00:00 cannot be used: use a year from 1900 to 2999" in answer.data


def test_notes_are_told_with_the_name_of_the_row() -> None:
    make_tables("django_q")
    put_schedule("import-report", name="q", args="'ann'", schedule_type="H", hook="shop.done", next_run=NOW)
    words = ended("import", "django-q2", "--dry-run").words
    assert words.startswith("q: its hook shop.done is not called any more: use the signal job_finished.\n")


def test_no_row_is_no_error() -> None:
    make_tables("django_q")
    assert ended("import", "django-q2").words == "No row.\n"


def test_a_user_without_the_permission_is_refused(beat: None) -> None:
    user_who_may(name="eve")
    answer = ended("import", "celery-beat", "--dry-run", "--actor", "eve")
    assert (answer.code, answer.data) == (1, "")
    assert "eve has no permission jobs_app.add_schedulestate" in answer.words


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["celery-beat"], 1, "there is no table django_celery_beat_periodictask in database 'default'"),
        (["django-q2"], 1, "there is no table django_q_schedule in database 'default'"),
        (["django-q2", "--database", "defalt"], 2, "no database 'defalt'. Did you mean 'default'?"),
        (["rq"], 1, "invalid choice: 'rq'"),
        (["django-q2", "--map", "x"], 1, "use the old name and the job type"),
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str], code: int, message: str) -> None:
    answer = ended("import", *arguments)
    assert answer.code == code
    assert message in answer.words


def test_a_mapping_is_checked(beat: None) -> None:
    answer = ended("import", "celery-beat", "--map", "shop.x=import-reprt")
    assert (answer.code, ScheduleState.objects.count()) == (1, 0)
    assert "Did you mean 'import-report'?" in answer.words
    answer = ended("import", "celery-beat", "--dry-run", "--map", "import-reprt=import-report")
    assert "--map import-reprt: no row has this task. Did you mean 'import-report'?" in answer.words
