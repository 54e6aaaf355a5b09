"""What a test run notes for `make spec`."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection

from tests.spec_report import SpecReport

OLD = {
    "tests/test_a.py::test_kept": {"numbers": ["S1.1"], "outcome": "passed"},
    "tests/test_a.py::test_removed": {"numbers": ["S1.2"], "outcome": "passed"},
    "tests/test_b.py::test_of_a_file_not_run": {"numbers": ["S1.3"], "outcome": "passed"},
    "tests/test_gone.py::test_of_a_removed_file": {"numbers": ["S1.4"], "outcome": "passed"},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("tests", ".spec"):
        (tmp_path / folder).mkdir()
    for file in ("test_a.py", "test_b.py"):
        (tmp_path / "tests" / file).touch()
    (tmp_path / ".spec" / f"{connection.vendor}.json").write_text(json.dumps(OLD))
    return tmp_path


def noted(root: Path, outcome: str, *arguments: str, when: str = "call") -> dict[str, Any]:
    """The file after a run in which `test_kept` ended as `outcome`."""
    report, test = SpecReport(root), "tests/test_a.py::test_kept"
    report.pytest_collection_modifyitems([_item(test, "S1.1")])
    passed = {"nodeid": test, "failed": False, "skipped": False}
    report.pytest_runtest_logreport(SimpleNamespace(**passed, when="call"))
    report.pytest_runtest_logreport(SimpleNamespace(**{**passed, outcome: True}, when=when))
    config = SimpleNamespace(args=arguments, option=SimpleNamespace(collectonly=False))
    report.pytest_sessionfinish(SimpleNamespace(config=config))
    return json.loads((root / ".spec" / f"{connection.vendor}.json").read_text())


def _item(nodeid: str, *numbers: str) -> Any:
    """One that uses no database."""
    marks = {"spec": [SimpleNamespace(args=numbers)]}
    return SimpleNamespace(nodeid=nodeid, iter_markers=lambda name: marks.get(name, []), fixturenames=())


def test_tests_that_are_gone_are_forgotten_and_others_kept(root: Path) -> None:
    assert set(noted(root, "passed", "tests")) == {
        "tests/test_a.py::test_kept",
        "tests/test_b.py::test_of_a_file_not_run",
    }


def test_a_run_of_single_tests_forgets_nothing(root: Path) -> None:
    assert set(noted(root, "passed", "tests/test_a.py::test_kept")) == set(OLD)


@pytest.mark.parametrize(("outcome", "when"), [("failed", "call"), ("failed", "teardown"), ("skipped", "setup")])
def test_what_did_not_pass_from_setup_to_teardown_is_not_noted_as_passed(root: Path, outcome: str, when: str) -> None:
    assert noted(root, outcome, "tests", when=when)["tests/test_a.py::test_kept"]["outcome"] == outcome


def test_what_other_processes_collected_and_ran_is_noted_by_the_first(root: Path) -> None:
    test = "tests/test_a.py::test_kept"
    worker, first = SpecReport(root), SpecReport(root)
    worker.pytest_collection_modifyitems([_item(test, "S1.1", "S1.2")])
    config = SimpleNamespace(args=["tests"], option=SimpleNamespace(collectonly=False), workeroutput={})
    worker.pytest_sessionfinish(SimpleNamespace(config=config))
    assert json.loads((root / ".spec" / f"{connection.vendor}.json").read_text()) == OLD
    first.pytest_runtest_logreport(SimpleNamespace(nodeid=test, failed=False, skipped=False, when="call"))
    first.pytest_runtest_logreport(
        SimpleNamespace(nodeid="tests/test_a.py::test_unmarked", failed=True, skipped=False, when="call")
    )
    first.pytest_testnodedown(SimpleNamespace(workeroutput=config.workeroutput), None)
    first.pytest_testnodedown(SimpleNamespace(), "it died")
    del config.workeroutput
    first.pytest_sessionfinish(SimpleNamespace(config=config))
    noted = json.loads((root / ".spec" / f"{connection.vendor}.json").read_text())
    assert noted[test] == {"numbers": ["S1.1", "S1.2"], "outcome": "passed", "anywhere": True}
    assert set(noted) == {test, "tests/test_b.py::test_of_a_file_not_run"}
