"""Prints which lines of docs/specification.md the last test runs have shown, on which database, and which none has."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SPECIFICATION = ROOT / "docs" / "specification.md"
RESULTS = {"SQLite": ROOT / ".spec" / "sqlite.json", "PostgreSQL": ROOT / ".spec" / "postgresql.json"}
ROW = re.compile(r"^\| *([SA]\d+\.R?\d+) *\| *([^|]+?) *\|", re.MULTILINE)
PROMISED = ("built", "differs")  # the statuses of lines that a test must show

Outcomes = Mapping[str, Mapping[str, str]]  # number -> test -> outcome


def statuses_in(page: Path) -> dict[str, str]:
    """The status of each line, in the page's order."""
    return dict(ROW.findall(page.read_text()))


def read(paths: Mapping[str, Path]) -> dict[str, Outcomes]:
    """What each database has shown; a test that uses none shows it for all, wherever it ran."""
    found = {name: json.loads(path.read_text()) if path.exists() else {} for name, path in paths.items()}
    ran = [name for name, entries in found.items() if entries]
    anywhere = {test: entry for name in ran for test, entry in found[name].items() if entry.get("anywhere")}
    return {name: outcomes_in({**(anywhere if name in ran else {}), **found[name]}) for name in found}


def outcomes_in(entries: Mapping[str, Any]) -> Outcomes:
    outcomes: dict[str, dict[str, str]] = defaultdict(dict)
    for test, entry in entries.items():
        for number in entry["numbers"]:
            outcomes[number][test] = entry["outcome"]
    return outcomes


def is_shown(outcomes: Outcomes, number: str) -> bool:
    """At least one test passed and none failed; skipped tests show nothing."""
    ends = outcomes.get(number, {}).values()
    return "passed" in ends and "failed" not in ends


def table(statuses: Mapping[str, str], results: Mapping[str, Outcomes]) -> list[str]:
    lines = []
    for number, status in statuses.items():
        cells = [f"{database if is_shown(outcomes, number) else '-':<12}" for database, outcomes in results.items()]
        tests = sorted({test for outcomes in results.values() for test in outcomes.get(number, {})})
        more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
        lines.append(f"{number:<8}{status:<10}{''.join(cells)}{tests[0] + more if tests else 'no test'}")
    return lines


def summary(statuses: Mapping[str, str], results: Mapping[str, Outcomes]) -> list[str]:
    counts = Counter(statuses.values())
    lines = [
        ", ".join(f"{count} {status}" for status, count in counts.most_common()) + f"; {len(statuses)} lines in all"
    ]
    promised = [number for number, status in statuses.items() if status in PROMISED]
    for database, outcomes in results.items():
        missing = [number for number in promised if not is_shown(outcomes, number)]
        lines.append(
            f"{database}: {len(promised) - len(missing)} of {len(promised)} shown; not shown: {_listed(missing)}"
        )
    failed = [n for n in statuses if any("failed" in outcomes.get(n, {}).values() for outcomes in results.values())]
    unknown = {number for outcomes in results.values() for number in outcomes} - set(statuses)
    return [
        *lines,
        f"with a failing test: {_listed(failed)}",
        f"marked but not in the page: {_listed(sorted(unknown))}",
    ]


def _listed(numbers: Iterable[str]) -> str:
    return ", ".join(numbers) or "none"


def main() -> int:
    statuses = statuses_in(SPECIFICATION)
    results = read(RESULTS)
    print("\n".join([*table(statuses, results), "", *summary(statuses, results)]))
    for database, path in RESULTS.items():
        if not path.exists():
            print(f"no run on {database} yet: make test")
    return 0


if __name__ == "__main__":
    sys.exit(main())
