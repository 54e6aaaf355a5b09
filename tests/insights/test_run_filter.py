"""What a filter of runs means: from an address and back, with its chips, and what it says of values it cannot use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.http import QueryDict
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.errors import OptionInvalid
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_filter_values import FINISHED_STATES, LIVE_STATES, WINDOWS

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
RUN = UUID("01900000-0000-7000-8000-000000000001")

EVERYTHING = {
    "state": "failed",
    "job_type": "report",
    "queue": "mail",
    "subject": "acme & sons",
    "worker": "host-1",
    "error": "app.errors.Timeout",
    "since": "2026-01-01T10:00:00+00:00",
    "until": "2026-01-01T11:00:00+00:00",
    "attempts": "more",
    "longer": "1.5",
    "schedule": "7",
    "parent": str(RUN),
    "open": "1",
    "q": f"payload.month:2026-01 {RUN} no answer",
}


def test_an_address_says_all_there_is_and_comes_back_the_same() -> None:
    found = RunFilter.from_query(EVERYTHING)
    assert found.as_query() == EVERYTHING
    assert (found.since, found.longer, found.schedule, found.parent) == (NOW - timedelta(hours=2), 1.5, 7, RUN)
    assert [chip.name for chip in found.chips] == list(EVERYTHING)


def test_a_query_dict_is_read_as_any_mapping_and_other_names_are_left_alone() -> None:
    query = QueryDict("state=failed&older=x&page=7&job_type=&queue=%20mail%20")
    assert RunFilter.from_query(query) == RunFilter(state="failed", queue="mail")


def test_a_chip_tells_a_filter_in_words_and_how_the_list_is_without_it() -> None:
    state, attempts, open_ = RunFilter(state="finished", attempts="more", open=True).chips
    assert (state.label, state.value, state.query) == (
        "state",
        "all that have ended",
        {"attempts": "more", "open": "1"},
    )
    assert (attempts.value, open_.value) == ("more than one", "yes")


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("state", "dead", "use one of queued"),
        ("window", "2y", "use one of 1h"),
        ("since", "yesterday", "use a moment such as"),
        ("until", "2026-02-30", "use a moment such as"),
        ("since", "9999-12-31T23:59-23:00", "use a moment such as"),
        ("longer", "soon", "use seconds"),
        ("longer", "0", "use a time above 0"),
        ("longer", "nan", "number of seconds"),
        ("schedule", "-1", "use a whole number"),
        ("schedule", "9" * 30, "use a whole number"),
        ("parent", "7", "use the id of a run"),
        ("queue", "a\x00b", "without control characters"),
        ("q", "x" * 501, "use text of"),
        ("q", "id:7", "is not the id of a run"),
        ("q", "payload.api_key:x", "cannot be searched"),
        ("q", "payload.a..b:x", "names no key"),
        ("q", "state:dead", "use one of queued"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_and_the_others_stay(name: str, value: str, advice: str) -> None:
    query = {"job_type": "report", name: value}
    found, problems = RunFilter.read(query)
    assert found == RunFilter(job_type="report")
    assert len(problems) == 1
    assert advice in str(problems)
    with pytest.raises(OptionInvalid, match="cannot be used"):
        RunFilter.from_query(query)


def test_a_time_that_ends_before_it_begins_is_told() -> None:
    _, problems = RunFilter.read({"since": "2026-01-02", "until": "2026-01-01"})
    assert problems == {"until": "The time ends before it begins."}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("type:report", RunFilter(job_type="report")),
        ('queue:mail subject:"acme corp"', RunFilter(queue="mail", subject="acme corp")),
        ("error:Timeout worker:w1 boom", RunFilter(error="Timeout", worker="w1", q="boom")),
        ("state:failed", RunFilter(state="failed")),
        ("KeyError: 'type' in http://x:80/", RunFilter(q="KeyError: 'type' in http://x:80/")),
        (f"id:{RUN}", RunFilter(q=str(RUN))),
        (RUN.hex, RunFilter(q=str(RUN))),
        ('payload.month:"a b" payload.a.b:2', RunFilter(q='payload.month:"a b" payload.a.b:2')),
        ('"type:report"', RunFilter(q='"type:report"')),
        ('"two words"', RunFilter(q="two words")),
    ],
)
def test_what_is_typed_into_the_search_becomes_filters_where_it_names_them(typed: str, meant: RunFilter) -> None:
    found = RunFilter.from_query({"q": typed})
    assert found == meant
    assert RunFilter.from_query(found.as_query()) == found


def test_the_search_knows_ids_text_and_paths_of_the_payload() -> None:
    search = RunFilter(q=f"payload.a.b:2 {RUN} no answer").search
    assert (search.run_id, search.text, search.payload) == (RUN, "no answer", (("a.b", "2"),))
    assert RunFilter(q="payload.a:2").reads_payload
    assert not RunFilter(q="a:2").reads_payload


@given(typed=st.text(max_size=60), more=st.sampled_from(["", " type:x", " payload.a:1", ' "', f" {RUN}"]))
def test_whatever_is_typed_means_the_same_when_it_comes_back(typed: str, more: str) -> None:
    found, _ = RunFilter.read({"q": typed + more})
    assert RunFilter.read(found.as_query()) == (found, {})


@pytest.mark.parametrize("state", LIVE_STATES)
def test_what_is_live_is_shown_however_old_it_is(state: str) -> None:
    chosen = RunFilter(state=state)
    assert chosen.begins(NOW) is None
    assert (chosen.is_live, chosen.is_finished) == (True, False)


@pytest.mark.parametrize("state", FINISHED_STATES)
def test_history_begins_a_day_ago_if_nothing_else_is_said(state: str) -> None:
    chosen = RunFilter(state=state)
    assert chosen.begins(NOW) == NOW - timedelta(hours=24)
    assert (chosen.is_live, chosen.is_finished) == (False, True)


@pytest.mark.parametrize(
    "chosen", [RunFilter(parent=RUN), RunFilter(schedule=7), RunFilter(q=str(RUN)), RunFilter(window="all")]
)
def test_few_runs_are_found_wherever_in_time_they_are(chosen: RunFilter) -> None:
    assert chosen.begins(NOW) is None


@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_is_seen_from_now(window: str) -> None:
    length = WINDOWS[window]
    assert RunFilter(window=window).begins(NOW) == (NOW - length if length else None)


def test_a_default_is_not_in_the_address() -> None:
    assert RunFilter(window="24h").as_query() == {}
    assert RunFilter(window="24h", state="live").as_query() == {"state": "live", "window": "24h"}
    assert RunFilter(window="all", state="live").as_query() == {"state": "live"}
    assert RunFilter(window="7d", until=NOW).as_query() == {"until": NOW.isoformat()}


@pytest.mark.parametrize(
    ("changes", "is_empty"),
    [
        ({}, True),
        ({"window": "7d"}, True),
        ({"since": NOW, "until": NOW, "order": "due"}, True),
        ({"open": True}, False),
        ({"q": "x"}, False),
        ({"state": "live"}, False),
    ],
)
def test_a_time_alone_chooses_nothing(changes: dict[str, Any], is_empty: bool) -> None:
    assert RunFilter(**changes).is_empty is is_empty


def test_what_is_frozen_does_not_take_in_what_comes_later() -> None:
    frozen = RunFilter(state="failed").frozen(NOW)
    assert (frozen.since, frozen.until) == (NOW - timedelta(hours=24), NOW)
    assert frozen.frozen(NOW + timedelta(hours=9)) == frozen
    assert RunFilter.from_query(frozen.as_query()) == frozen
    assert RunFilter(state="live").frozen(NOW).begins(NOW) is None


def test_a_moment_without_a_zone_is_by_the_clocks_of_who_asks() -> None:
    with timezone.override("Europe/Berlin"):
        assert RunFilter.from_query({"since": "2026-01-01T13:00"}).since == NOW
        assert RunFilter.from_query({"since": "2026-01-01"}).since == NOW - timedelta(hours=13)


def test_the_apps_own_chores_are_in_it_where_they_are_named() -> None:
    assert not RunFilter(state="live").has_chores
    named = [{"queue": "jobs.system"}, {"job_type": "jobs.prune"}, {"schedule": 7}, {"q": str(RUN)}]
    assert all(RunFilter(**each).has_chores for each in named)
