"""What would break the code of a release on the schema of the next one is recognised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.models.catalogue import Catalogue, Column, breaches

NUMBER = Column(may_be_null=False, has_default=True, type="integer", length=None)
TEXT = Column(may_be_null=True, has_default=False, type="varchar", length=20)
BEFORE = Catalogue({"job": {"id": NUMBER, "name": TEXT}}, {"job": {"job_pk": {"id"}}}, {"enqueue(uuid)"})


def after(*, rules: dict[str, set[str]] | None = None, **columns: Column | None) -> Catalogue:
    merged = {**BEFORE.columns["job"], **columns}
    kept = {name: column for name, column in merged.items() if column is not None}
    return replace(BEFORE, columns={"job": kept}, rules={"job": {**BEFORE.rules["job"], **(rules or {})}})


@pytest.mark.parametrize(
    ("later", "told"),
    [
        (after(name=None), "removes job.name"),
        (after(name=None, title=TEXT), "removes job.name"),
        (after(name=replace(TEXT, type="integer")), "changes the type of job.name"),
        (after(name=replace(TEXT, length=10)), "makes job.name stricter"),
        (after(name=replace(TEXT, may_be_null=False)), "makes job.name stricter"),
        (after(id=replace(NUMBER, has_default=False)), "makes job.id stricter"),
        (after(gate=replace(NUMBER, has_default=False)), "adds job.gate, which must be given"),
        (after(rules={"one_name": {"name"}}), "adds the rule one_name to job"),
        (replace(BEFORE, columns={}, rules={}), "removes job"),
        (replace(BEFORE, routines={"enqueue(uuid, text)"}), "removes enqueue(uuid)"),
    ],
)
def test_what_takes_away_or_asks_for_more_is_told(later: Catalogue, told: str) -> None:
    assert breaches(BEFORE, later) == {told}


@pytest.mark.parametrize(
    "later",
    [
        BEFORE,
        after(gate=NUMBER),
        after(gate=TEXT),
        after(name=replace(TEXT, length=40)),
        after(name=replace(TEXT, length=None)),
        after(gate=TEXT, rules={"one_gate": {"gate"}, "one_gate_per_name": {"gate", "name"}}),
        replace(BEFORE, routines={"enqueue(uuid)", "enqueue(uuid, text)"}),
        replace(BEFORE, columns={**BEFORE.columns, "pause": {"name": TEXT}}),
    ],
)
def test_what_only_adds_is_fine(later: Catalogue) -> None:
    assert breaches(BEFORE, later) == set()
