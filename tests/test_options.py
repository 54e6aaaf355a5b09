"""Options: every name has a type and a rule, and a wrong one is answered with advice."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from jobs_app.errors import DefinitionInvalid, OptionInvalid
from jobs_app.options import ENQUEUE_READERS, JOB_READERS, EnqueueOptions, JobOptions, read, read_enqueue

MOMENT = datetime(2026, 1, 1, 12, tzinfo=UTC)


def read_job(**options: Any) -> dict[str, Any]:
    return read(options, JOB_READERS, DefinitionInvalid, "@job on report")


def test_every_option_has_a_type_and_a_rule() -> None:
    assert set(JOB_READERS) == set(JobOptions.__annotations__)
    assert set(ENQUEUE_READERS) == set(EnqueueOptions.__annotations__)


def test_an_unknown_option_names_the_nearest_one() -> None:
    with pytest.raises(DefinitionInvalid, match=r"@job on report: there is no option 'max_attempt'.*'max_attempts'\?"):
        read_job(max_attempt=3)


def test_an_unknown_option_like_no_other_lists_the_known_ones() -> None:
    with pytest.raises(OptionInvalid, match=r"no option 'zzz'\. Known are: actor, debounce, delay, expires_at"):
        read_enqueue({"zzz": 1}, "job 'report'")


@pytest.mark.parametrize(
    ("option", "value", "advice"),
    [
        ("name", "a b", "use 1 to 120 letters"),
        ("queue", "", "use 1 to 120 letters"),
        ("priority", 101, "whole number from -100 to 100"),
        ("max_attempts", 0, "whole number from 1"),
        ("concurrency", 0, "whole number from 1"),
        ("timeout", 0, "above 0"),
        ("timeouts", {"a": "soon"}, '"30s"'),
        ("timeouts", {}, "a dict with a time per name"),
        ("timeouts", {1: 60}, "a dict with a time per name"),
        ("variant", "not a field", "name of a payload field"),
        ("max_timeout", -1, "from 0"),
        ("lease", "soon", '"30s"'),
        ("every", 0, "above 0"),
        ("rate", "fast", "10/minute"),
        ("backoff", 60, r"Backoff\(base=60\)"),
        ("policy", "single", "use one of standard, singleton"),
        ("isolation", "container", "use one of thread, process"),
        ("retry_on", "ConnectionError", "an exception class"),
        ("retention", {"done": "7d"}, "succeeded, failed, cancelled"),
        ("keep_last", 0, "whole number from 1"),
        ("meta", [1], "use a dict"),
        ("permission", "operate", "app_label.codename"),
        ("subject", "not a field", "name of a payload field"),
        ("singleton", 3, "name of a payload field"),
        ("atomic", "yes", "use True or False"),
        ("enabled", 1, "use True or False"),
        ("label", 7, "use text"),
    ],
)
def test_a_wrong_value_says_what_to_write(option: str, value: object, advice: str) -> None:
    with pytest.raises(DefinitionInvalid, match=rf"@job on report: {option}=.* cannot be used: .*{advice}"):
        read_job(**{option: value})


@pytest.mark.parametrize(
    "option",
    ["timeout", "max_timeout", "variant", "lease", "concurrency", "rate", "retention", "every", "key", "preset"],
)
def test_none_says_none_where_a_job_type_may_have_none(option: str) -> None:
    assert read_job(**{option: None}) == {option: None}


def test_none_is_the_same_as_not_given_at_an_enqueue() -> None:
    assert read_enqueue({"delay": None, "key": None, "priority": 3}, "job 'report'") == {"priority": 3}


def test_an_unknown_option_is_refused_also_when_it_is_none() -> None:
    with pytest.raises(OptionInvalid, match="no option 'dely'"):
        read_enqueue({"dely": None}, "job 'report'")


def test_run_at_and_delay_exclude_each_other() -> None:
    with pytest.raises(OptionInvalid, match="Give one of them"):
        read_enqueue({"run_at": MOMENT, "delay": 5}, "job 'report'")


def test_an_end_before_the_start_is_refused() -> None:
    with pytest.raises(OptionInvalid, match="expire before it is due"):
        read_enqueue({"run_at": MOMENT, "expires_at": MOMENT}, "job 'report'")


@pytest.mark.parametrize("key", ["", "x" * 201, "a\x00b", 7])
def test_an_idempotency_key_is_1_to_200_plain_characters(key: object) -> None:
    with pytest.raises(OptionInvalid, match=r"idempotency_key=.* cannot be used: use text"):
        read_enqueue({"idempotency_key": key}, "job 'report'")


def test_the_parent_is_the_id_of_a_run() -> None:
    parent = UUID(int=7)
    assert read_enqueue({"parent": parent}, "job 'report'") == {"parent": parent}
    with pytest.raises(OptionInvalid, match="use the id of a run"):
        read_enqueue({"parent": "7"}, "job 'report'")


def test_values_that_were_read_can_be_read_again() -> None:
    given = {"delay": "5m", "meta": {"a": 1}, "key": "k", "actor": "ada", "expires_at": MOMENT}
    once = read_enqueue(given, "job 'report'")
    assert read_enqueue(once, "job 'report'") == once
