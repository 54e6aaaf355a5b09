"""Prints which lines of docs/specification.md the last test runs have shown, on which database, and which none has."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPECIFICATION = ROOT / "docs" / "specification.md"
RESULTS = {"SQLite": ROOT / ".spec" / "sqlite.json", "PostgreSQL": ROOT / ".spec" / "postgresql.json"}
NUMBER = re.compile(r"\b[SA]\d+\.R?\d+\b")

Outcomes = dict[str, dict[str, str]]  # number -> test -> outcome


def outcomes_in(path: Path) -> Outcomes:
    entries = json.loads(path.read_text()) if path.exists() else {}
    outcomes: Outcomes = defaultdict(dict)
    for test, entry in entries.items():
        for number in entry["numbers"]:
            outcomes[number][test] = entry["outcome"]
    return outcomes


def is_shown(outcomes: Outcomes, number: str) -> bool:
    """At least one test passed and none failed; skipped tests show nothing."""
    ends = outcomes.get(number, {}).values()
    return "passed" in ends and "failed" not in ends


def numbers_in(path: Path) -> list[str]:
    """Each number once, in the order of its first mention."""
    return list(dict.fromkeys(NUMBER.findall(path.read_text()))) if path.exists() else []


def table(numbers: list[str], results: dict[str, Outcomes]) -> list[str]:
    lines = []
    for number in numbers:
        cells = [f"{database if is_shown(outcomes, number) else '-':<12}" for database, outcomes in results.items()]
        tests = sorted({test for outcomes in results.values() for test in outcomes.get(number, {})})
        more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
        lines.append(f"{number:<8}{''.join(cells)}{tests[0] + more if tests else 'no test'}")
    return lines


def summary(numbers: list[str], results: dict[str, Outcomes]) -> list[str]:
    lines = [
        f"{sum(is_shown(outcomes, number) for number in numbers)} of {len(numbers)} shown on {database}"
        for database, outcomes in results.items()
    ]
    missing = [number for number in numbers if not any(is_shown(outcomes, number) for outcomes in results.values())]
    failed = [number for number in numbers if any("failed" in o.get(number, {}).values() for o in results.values())]
    lines.append(f"without a passing test: {', '.join(missing) or 'none'}")
    lines.append(f"with a failing test: {', '.join(failed) or 'none'}")
    return lines


def main() -> int:
    results = {database: outcomes_in(path) for database, path in RESULTS.items()}
    marked = {number for outcomes in results.values() for number in outcomes}
    written = numbers_in(SPECIFICATION)
    unknown = sorted(marked - set(written))
    print("\n".join([*table([*written, *unknown], results), "", *summary(written, results)]))
    if unknown:
        print(f"marked in tests, not in {SPECIFICATION.relative_to(ROOT)}: {', '.join(unknown)}")
    for database, path in RESULTS.items():
        if not path.exists():
            print(f"no run on {database} yet: make test")
    return 0


if __name__ == "__main__":
    sys.exit(main())
