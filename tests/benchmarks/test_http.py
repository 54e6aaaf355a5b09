"""The figures of remote workers: what is noted of each call, what waiting costs, and what a case stands beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import http, http_client, http_settings
from benchmarks.calls import Calls, notebook
from benchmarks.http_server import Site
from benchmarks.idle_cost import Counters, IdleCost, cost_between
from benchmarks.our_programs import OURS_OVER_HTTP
from benchmarks.results import Results
from benchmarks.rig import Rig
from benchmarks.starts import Starts
from benchmarks.stores import Sqlite
from jobs_app.conf import parse


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(OURS_OVER_HTTP, Sqlite(tmp_path), tmp_path)


class Server:
    """Has one job, and remembers what it was told."""

    def __init__(self) -> None:
        self.jobs: list[dict[str, Any]] = [{"job_id": "a run", "token": "a lease", "payload": {"n": 1}}]
        self.asked: list[Any] = []
        self.reported: list[Any] = []

    def pull(self, worker_id: str, **asked: Any) -> dict[str, Any]:
        self.asked.append((worker_id, asked))
        return {"job": self.jobs.pop() if self.jobs else None}

    def report(self, *told: str, **fields: Any) -> None:
        self.reported.append((told, fields))


def test_a_job_that_is_pulled_is_noted_and_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts, calls, server = Starts(tmp_path / "starts", 2), Calls(tmp_path / "calls"), Server()
    monkeypatch.setenv("BENCH_TIMES", str(starts.path))
    monkeypatch.setattr("benchmarks.peers.program._times", None)
    assert http_client.turn(server, "busy-1", queue="default", wait=3, note=notebook(str(calls.path)))
    assert server.asked == [("busy-1", {"queues": ["default"], "wait_sec": 3})]
    assert server.reported == [(("a run", "a lease"), {"done": True})]
    assert [bool(start) for start in starts.all()] == [False, True]
    assert len(calls.pulls()) == len(calls.reports()) == 1


def test_a_pull_that_brings_nothing_is_no_figure(tmp_path: Path) -> None:
    calls, server = Calls(tmp_path / "calls"), Server()
    server.jobs.clear()
    assert not http_client.turn(server, "busy-1", queue="default", wait=0, note=notebook(str(calls.path)))
    assert (calls.pulls(), server.reported) == ([], [])


def test_the_calls_of_all_workers_are_in_one_file(tmp_path: Path) -> None:
    calls = Calls(tmp_path / "calls")
    first, second = notebook(str(calls.path)), notebook(str(calls.path))
    for note, pair in ((first, (1.5, 10.0)), (second, (2.5, 20.0)), (first, (3.5, 30.0))):
        note(*pair)
    assert calls.pulls() == [1.5, 2.5, 3.5]
    assert calls.reports() == [10.0, 20.0, 30.0]


def test_a_new_drain_begins_with_no_calls(tmp_path: Path) -> None:
    notebook(str(Calls(tmp_path / "calls").path))(1.0, 1.0)
    assert Calls(tmp_path / "calls").pulls() == []


def test_pulls_and_reports_are_told_apart(tmp_path: Path, rig: Rig) -> None:
    calls = Calls(tmp_path / "calls")
    note = notebook(str(calls.path))
    for number in range(1, 101):
        note(float(number), 1000.0 + number)
    figures = http.call_figures(rig, calls, work="http", case="4 clients", beside="local worker")
    assert {figure.case: figure.value for figure in figures} == {
        "4 clients, pull p50": 50,
        "4 clients, pull p95": 95,
        "4 clients, report p50": 1050,
        "4 clients, report p95": 1095,
    }


def test_workers_beside_idle_ones_are_a_share_of_the_same_without_them(tmp_path: Path, rig: Rig) -> None:
    results = Results()
    for case, beside, pull in (("4 clients", "local worker", 10.0), ("4 clients beside 50 idle", "4 clients", 15.0)):
        calls = Calls(tmp_path / "calls")
        notebook(str(calls.path))(pull, 1.0)
        results.add(http.call_figures(rig, calls, work="http", case=case, beside=beside))
    shares = {case["case"]: case.get("share") for case in results.cases("http")}
    assert shares["4 clients beside 50 idle, pull p50"] == 1.5
    assert shares["4 clients, pull p50"] is None  # a local worker makes no such call


def test_a_drain_without_a_single_job_has_no_times(tmp_path: Path, rig: Rig) -> None:
    assert http.call_figures(rig, Calls(tmp_path / "calls"), work="http", case="1 client", beside="") == []


def test_what_a_quiet_time_cost_is_told_without_the_looks_at_it() -> None:
    before, after = Counters(transactions=1000, sessions=50), Counters(transactions=1063, sessions=60)
    cost = cost_between(before, after, seconds=5, looks=[3, 7, 2])
    assert cost == IdleCost(transactions=11.8, sessions=2.0, held=3, most=7)


def test_nothing_is_not_less_than_nothing() -> None:
    """Sessions tell what they did a little later, so that even a look may be missing."""
    quiet = Counters(transactions=10, sessions=1)
    assert cost_between(quiet, quiet, seconds=5, looks=[0]) == IdleCost(transactions=0.0, sessions=0.0, held=0, most=0)


def test_each_cost_of_waiting_is_a_case(rig: Rig) -> None:
    figures = http.cost_figures(rig, IdleCost(transactions=12.5, sessions=2.0, held=3, most=40), idle=50, work="http")
    assert [(figure.case, figure.value) for figure in figures] == [
        ("50 idle alone, transactions", 12.5),
        ("50 idle alone, new connections", 2.0),
        ("50 idle alone, connections held", 3),
        ("50 idle alone, connections at most", 40),
    ]


def test_a_client_is_told_all_that_it_asks_its_environment_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(tmp_path / "calls")
    told = Site("http://127.0.0.1:1/jobs/", "jobs_token").for_client(calls.path, name="idle", queue="elsewhere")
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    turns: list[Any] = []

    def end(client: Any, name: str, **asked: Any) -> bool:
        turns.append(asked | {"name": name, "note": None})
        raise KeyboardInterrupt

    monkeypatch.setattr(http_client, "turn", end)
    monkeypatch.setattr("sys.argv", ["http_client", "worker"])
    with pytest.raises(KeyboardInterrupt):
        http_client.main()
    assert turns == [{"name": turns[0]["name"], "queue": "elsewhere", "wait": 0, "note": None}]
    assert turns[0]["name"].startswith("idle-")


def test_no_limit_of_the_interface_is_in_the_way_of_the_measurement() -> None:
    settings = parse(http_settings.JOBS)
    assert settings.api_requests_per_minute == 0
    assert settings.api_max_waiting > http.arguments(["--sqlite"]).idle


def test_threads_that_all_may_wait_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        http.arguments(["--sqlite", "--threads", "20", "--idle", "50"])
    assert "--threads must be as many" in capsys.readouterr().err


def test_without_a_database_it_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with pytest.raises(SystemExit):
        http.arguments([])
    assert "jobsite.localpg run" in capsys.readouterr().err


def test_one_case_that_fails_costs_only_itself(tmp_path: Path) -> None:
    options = http.arguments(["--sqlite"])
    measuring = http.Measuring(Sqlite(tmp_path), options, tmp_path)

    def fail() -> list[Any]:
        raise RuntimeError("no server")

    measuring.take("8 clients", fail)
    measuring.take("latency", list)
    assert [each["error"] for each in measuring.results.failures] == ["RuntimeError: no server"]
