"""The plans of whatever statements a piece of code sends, taken while it runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.db import connection, transaction

# Scans that follow no index, and sorts of what was not read in order.
DISORDER = {"Seq Scan", "Bitmap Heap Scan", "Hash Join", "Merge Join"}


@dataclass
class Plans:
    """Every statement about jobs, and the nodes of its plan."""

    nodes: list[tuple[str, list[dict[str, Any]]]] = field(default_factory=list)

    def __call__(self, execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: Any) -> Any:
        """As Django calls whoever wraps the execution of SQL: explain it, undo it, then do it."""
        if "jobs_app_" in sql and not sql.startswith("CALL"):  # what is in a procedure cannot be explained
            self.nodes.append((sql, self._explain(sql, parameters)))
        return execute(sql, parameters, many, context)

    @property
    def rows(self) -> int:
        """Read from tables of ours."""
        return sum(_rows_of(node) for _, nodes in self.nodes for node in nodes)

    def disorder(self) -> list[tuple[str, str]]:
        return [
            (node["Node Type"], sql) for sql, nodes in self.nodes for node in nodes if node["Node Type"] in DISORDER
        ]

    def sorted_rows(self) -> int:
        sorts = [node for _, nodes in self.nodes for node in nodes if "Sort" in node["Node Type"]]
        return max((round(node["Actual Rows"]) for node in sorts), default=0)

    def indexes(self) -> set[str]:
        return {node["Index Name"] for _, nodes in self.nodes for node in nodes if "Index Name" in node}

    def _explain(self, sql: str, parameters: Any) -> list[dict[str, Any]]:
        with transaction.atomic(), psycopg.ClientCursor(connection.connection) as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", parameters)
            found = cursor.fetchone()[0]  # type: ignore[index]
            transaction.set_rollback(True)
        plan = json.loads(found) if isinstance(found, str) else found
        return list(_nodes_of(plan[0]["Plan"]))


def plans_of(act: Callable[[], Any]) -> Plans:
    plans = Plans()
    with transaction.atomic(), connection.execute_wrapper(plans):
        act()
    return plans


ROWS_READ = """
SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_xact_user_tables WHERE relname LIKE 'jobs\\_app\\_%'
"""


def rows_read_by(act: Callable[[], Any]) -> int:
    """From tables of ours, also inside a procedure, as the server counts them."""

    def count() -> int:
        with connection.cursor() as cursor:
            cursor.execute(ROWS_READ)
            return int(cursor.fetchone()[0])

    with transaction.atomic():
        before = count()
        act()
        return count() - before


def _nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes_of(child)


def _rows_of(node: dict[str, Any]) -> int:
    if not node.get("Relation Name", "").startswith("jobs_app_") or node["Node Type"] == "ModifyTable":
        return 0
    return round((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
