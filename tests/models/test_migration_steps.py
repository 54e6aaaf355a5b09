"""Every migration goes back alone, loses no row on the way, and lets the code of before work on the schema of after."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import jobs_app
from tests.models import catalogue
from tests.models.catalogue import breaches
from tests.models.walking import Step, migrate, walk

NAMES = sorted(path.stem for path in (Path(jobs_app.__file__).parent / "migrations").glob("0*.py"))

# What earlier code does not live through, and why that hurts nobody. docs/upgrading.md tells of it, too.
ALLOWED = {
    "0003_admission": {  # before the first release: no code of a release was ever on the schema of 0002
        "adds jobs_app_pause.parked, which must be given",
        "adds the rule jobs_app_job_exclusive to jobs_app_job",
        "adds the rule jobs_app_job_one_of_key to jobs_app_job",
        "adds the rule jobs_app_job_one_queued to jobs_app_job",
        "adds the rule jobs_app_job_running_is_open to jobs_app_job",
        "removes jobs_app_queuestate.policy",
    }
}


class Walked(NamedTuple):
    steps: dict[str, Step]
    left: set[str]  # in the database, when all was undone with rows in every table


@pytest.fixture(scope="module")
def walked(django_db_setup: None, django_db_blocker: Any) -> Walked:
    """Once for all questions. The next test finds empty tables, whatever happens."""
    with django_db_blocker.unblock():
        try:
            migrate(None)
            steps = {step.name: step for step in walk()}
            migrate(None)
            return Walked(steps, catalogue.names())
        finally:
            migrate(None)
            migrate(NAMES[-1])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_undone_is_as_it_was_and_can_be_done_again(name: str, walked: Walked) -> None:
    step = walked.steps[name]
    assert step.undone == step.before
    assert step.again == step.after


@pytest.mark.parametrize("name", NAMES)
def test_no_row_is_lost_forward_or_back(name: str, walked: Walked) -> None:
    """Rows of before are there after it; with those of after, they are there when it is undone, and done again."""
    for table, (before, done, filled, undone, again) in walked.steps[name].rows.items():
        assert (done, filled, undone, again) == (before, before + 1, before + 1, before + 1), table


def test_undone_altogether_with_rows_in_every_table_nothing_is_left(walked: Walked) -> None:
    assert walked.left == set()


@pytest.mark.parametrize("name", NAMES)
def test_code_of_before_works_on_the_schema_of_after(name: str, walked: Walked) -> None:
    """Nothing is missing that it reads, nothing refuses what it writes; but for what is told, and is really so."""
    step = walked.steps[name]
    assert breaches(step.before, step.after) == ALLOWED.get(name, set())


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed_is_told_to_people_too(name: str) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "upgrading.md").read_text()
    assert f"- `{name}` " in page
