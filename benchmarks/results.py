"""All figures of one call of the harness: as a table, as JSON, as charts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.chart import Bar, bars
from benchmarks.figures import JOBS_PER_SECOND, Figure, Spread, ratio, spread, told
from benchmarks.our_programs import OURS

Key = tuple[str, str, str, str]  # work, store, case, program
KEY_NAMES = ("work", "store", "case", "program")
HEADINGS = [*KEY_NAMES, "median", "least to most", "unit", "share", "of"]


class Results:
    def __init__(self) -> None:
        self._figures: dict[Key, list[Figure]] = {}
        self.failures: list[dict[str, str]] = []

    def add(self, figures: Iterable[Figure]) -> None:
        for figure in figures:
            key = (figure.work, figure.store, figure.case, figure.program)
            self._figures.setdefault(key, []).append(figure)

    def failed(self, work: str, title: str, error: Exception) -> None:
        self.failures.append({"work": work, "step": title, "error": f"{type(error).__name__}: {error}"})

    def share_of(self, key: Key) -> float | None:
        """The median as a share of the median of the case that it is to be seen beside."""
        work, store, _, program = key
        base = (work, store, self._figures[key][0].beside, program)
        return ratio(self._spread(key).median, self._spread(base).median) if base in self._figures else None

    def table(self) -> str:
        rows = [HEADINGS, *(self._row(key) for key in self._in_order())]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
        ]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join(lines + [f"failed: {each['step']}: {each['error']}" for each in self.failures])

    def cases(self, work: str) -> list[dict[str, Any]]:
        """As data, every single value too."""
        return [self._as_data(key) for key in self._in_order() if key[0] == work]

    def charts(self, work: str, *, side_by_side: bool) -> dict[str, str]:
        """One for each unit; of programs side by side, one for each case with the best first."""
        groups: dict[tuple[str, str], list[Bar]] = {}
        for key in self._in_order():
            if key[0] == work:
                title, label = self._place(key, side_by_side)
                unit, median = self._figures[key][0].unit, self._spread(key).median
                bar = Bar(label, median, told(median, unit), is_ours=key[3] == OURS.name)
                groups.setdefault((title, unit), []).append(bar)
        if side_by_side:
            for (_, unit), each in groups.items():
                each.sort(key=lambda bar: bar.value, reverse=unit == JOBS_PER_SECOND)
        return {title: bars(title, each) for (title, _), each in groups.items() if len(each) > 1}  # one says nothing

    def _place(self, key: Key, side_by_side: bool) -> tuple[str, str]:
        """In which chart, and under what name there."""
        work, store, case, program = key
        unit = self._figures[key][0].unit
        if side_by_side:
            return f"{work}, {case}, {unit}", f"{program} on {store}"
        return f"{work} on {store}, {unit}", case

    def _spread(self, key: Key) -> Spread:
        return spread([figure.value for figure in self._figures[key]])

    def _in_order(self) -> list[Key]:
        """As measured, but the programs of one case together."""
        cases = list(dict.fromkeys(key[:3] for key in self._figures))
        return sorted(self._figures, key=lambda key: cases.index(key[:3]))

    def _row(self, key: Key) -> list[str]:
        figure, all_of_it, share = self._figures[key][0], self._spread(key), self.share_of(key)
        between = f"{told(all_of_it.least, figure.unit)} to {told(all_of_it.most, figure.unit)}"
        marked = "*" if any(each.note for each in self._figures[key]) else ""
        return [
            *key,
            told(all_of_it.median, figure.unit) + marked,
            between if all_of_it.repeats > 1 else "",
            figure.unit,
            "" if share is None else _told_share(share),
            "" if share is None else figure.beside,
        ]

    def _as_data(self, key: Key) -> dict[str, Any]:
        figures, share = self._figures[key], self.share_of(key)
        return (
            dict(zip(KEY_NAMES, key, strict=True))
            | {"unit": figures[0].unit}
            | asdict(self._spread(key))
            | {"values": [figure.value for figure in figures]}
            | ({"beside": figures[0].beside, "share": share} if share is not None else {})
            | ({"notes": notes} if (notes := [figure.note for figure in figures if figure.note]) else {})
        )


class ResultsFile:
    """One JSON file, work by work: to measure one again leaves the others as they are. Its charts lie beside it."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self._path = path
        self._about = about  # the machine, the programs, how much was asked for

    def store(self, work: str, results: Results, *, side_by_side: bool) -> None:
        self.store_figures(work, results)
        for title, chart in results.charts(work, side_by_side=side_by_side).items():
            self._path.with_name(f"{self._path.stem}-{file_name(title)}.svg").write_text(chart)

    def store_figures(self, work: str, results: Results) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        all_works = json.loads(self._path.read_text()) if self._path.exists() else {}
        failures = [each for each in results.failures if each["work"] == work]
        all_works[work] = {**self._about, "cases": results.cases(work), "failures": failures}
        self._path.write_text(json.dumps(all_works, indent=1) + "\n")


def _told_share(share: float) -> str:
    """Two digits that say something: remote workers do a hundredth of what a local one does."""
    return f"{share:.2f}" if share >= 0.1 else f"{share:.2g}"


def file_name(title: str) -> str:
    words = "".join(letter if letter.isalnum() else " " for letter in title.replace("jobs/s", "rate")).split()
    return "-".join(words).lower()
