"""Says at the end of a run, loudly, that browser tests were left out."""

from __future__ import annotations

from typing import Any

from scripts.chromium import MISSING

FOLDER = "tests/browser/"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    left_out = [
        report
        for report in terminalreporter.stats.get("skipped", ())
        if report.nodeid.startswith(FOLDER) and MISSING in str(report.longrepr)
    ]
    if left_out:
        terminalreporter.section("BROWSER TESTS", sep="!", red=True, bold=True)
        terminalreporter.line(f"{len(left_out)} left out. {MISSING}", red=True, bold=True)
