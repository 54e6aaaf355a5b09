"""Notes which lines of the specification each run has shown, per database, for `make spec` to read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.needing_database import needs_database

FOLDER = ".spec"


class SpecReport:
    """Outcomes of marked tests. A run replaces what it ran, forgets tests that are gone and keeps the rest.

    Where tests run in several processes each knows what it collected, and the first one hears of every outcome.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: set[str] = set()
        self.numbers: dict[str, list[str]] = {}
        self.anywhere: set[str] = set()  # tests that use no database, and show the same on all
        self.outcomes: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            self.files.add(_file_of(item.nodeid))
            numbers = [number for mark in item.iter_markers("spec") for number in mark.args]
            if numbers:
                self.numbers[item.nodeid] = numbers
            if numbers and not needs_database(item):
                self.anywhere.add(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.outcomes[report.nodeid] = "failed"
        elif report.skipped or hasattr(report, "wasxfail"):
            self.outcomes[report.nodeid] = "skipped"
        elif report.when == "call":
            self.outcomes[report.nodeid] = "passed"

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        from django.db import connection

        if session.config.option.collectonly:
            return
        if hasattr(session.config, "workeroutput"):
            collected = {"files": sorted(self.files), "numbers": self.numbers, "anywhere": sorted(self.anywhere)}
            session.config.workeroutput["spec"] = collected
            return
        single_tests = any("::" in argument for argument in session.config.args)
        path = self.root / FOLDER / f"{connection.vendor}.json"
        kept = {test: entry for test, entry in _read(path).items() if single_tests or not self._is_gone(test)}
        ran = {
            test: {"numbers": self.numbers[test], "outcome": outcome, "anywhere": test in self.anywhere}
            for test, outcome in self.outcomes.items()
            if test in self.numbers
        }
        _write(path, {**kept, **ran})

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        collected = getattr(node, "workeroutput", {}).get("spec", {})  # nothing, if the process died
        self.files.update(collected.get("files", ()))
        self.numbers.update(collected.get("numbers", {}))
        self.anywhere.update(collected.get("anywhere", ()))

    def _is_gone(self, test: str) -> bool:
        file = _file_of(test)
        return not (self.root / file).exists() or (file in self.files and test not in self.numbers)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SpecReport(config.rootpath), "spec-report")


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def _write(path: Path, entries: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(entries, indent=1, sort_keys=True))
    fresh.replace(path)
