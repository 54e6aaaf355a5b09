"""Says at the end of a run, loudly, that the app was not dropped into a site of some Django."""

from __future__ import annotations

from typing import Any

from tests.dropin.environments import LEFT_OUT


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = (str(report.longrepr) for report in terminalreporter.stats.get("skipped", ()))
    reasons = sorted({reason[reason.index(LEFT_OUT) :].rstrip("')") for reason in skipped if LEFT_OUT in reason})
    if reasons:
        terminalreporter.section("DROP-IN TESTS", sep="!", red=True, bold=True)
        for reason in reasons:
            terminalreporter.line(reason, red=True, bold=True)
