"""What a database has of the app, and what of a later state would break the code of an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

OURS = "jobs_app"
ROUTINES = f"""
SELECT proname || '(' || pg_get_function_identity_arguments(oid) || ')' FROM pg_proc WHERE proname LIKE '%{OURS}%'
"""
POSTGRES_COLUMNS = """
SELECT column_name, is_nullable = 'YES', column_default IS NOT NULL OR is_identity = 'YES',
       data_type, character_maximum_length
  FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = %s
"""
NAMES = {
    "sqlite": f"SELECT name FROM sqlite_master WHERE name LIKE '%{OURS}%'",
    "postgresql": f"SELECT relname FROM pg_class WHERE relname LIKE '%{OURS}%' "
    f"UNION ALL SELECT typname FROM pg_type WHERE typname LIKE '%{OURS}%' UNION ALL {ROUTINES}",
}


@dataclass(frozen=True)
class Column:
    may_be_null: bool
    has_default: bool
    type: str
    length: int | None


@dataclass(frozen=True)
class Catalogue:
    columns: dict[str, dict[str, Column]] = field(default_factory=dict)  # of each table and view
    rules: dict[str, dict[str, set[str]]] = field(default_factory=dict)  # what refuses rows, by table; with its columns
    routines: set[str] = field(default_factory=set)


def names() -> set[str]:
    """Of everything: tables, views, indexes, sequences, types, routines."""
    return {name for (name,) in _rows(NAMES[connection.vendor])}


def read() -> Catalogue:
    with connection.cursor() as cursor:
        found = [each for each in connection.introspection.get_table_list(cursor) if each.name.startswith(OURS)]
        constraints = {
            each.name: connection.introspection.get_constraints(cursor, each.name) for each in found if each.type == "t"
        }
    rules = {table: _rules(given) for table, given in constraints.items()}
    routines = {name for (name,) in _rows(ROUTINES)} if connection.vendor == "postgresql" else set()
    return Catalogue({each.name: _columns(each.name) for each in found}, rules, routines)


def breaches(before: Catalogue, after: Catalogue) -> set[str]:
    """What would stop code that was written for the one from working on the other."""
    return {*_gone(before, after), *_refusing(before, after)}


def _gone(before: Catalogue, after: Catalogue) -> Iterator[str]:
    for routine in before.routines - after.routines:
        yield f"removes {routine}"
    for table, columns in before.columns.items():
        if table not in after.columns:
            yield f"removes {table}"
            continue
        for name, column in columns.items():
            now = after.columns[table].get(name)
            if now is None:
                yield f"removes {table}.{name}"
            elif now.type != column.type:
                yield f"changes the type of {table}.{name}"


def _refusing(before: Catalogue, after: Catalogue) -> Iterator[str]:
    for table, rules in before.rules.items():
        for rule, columns in after.rules.get(table, {}).items():
            if rule not in rules and columns <= before.columns[table].keys():  # who knows no new column breaks no rule
                yield f"adds the rule {rule} to {table}"
        for name, now in after.columns.get(table, {}).items():
            column = before.columns[table].get(name)
            if column is None and not (now.may_be_null or now.has_default):
                yield f"adds {table}.{name}, which must be given"
            if column is not None and _is_stricter(now, column):
                yield f"makes {table}.{name} stricter"


def _is_stricter(now: Column, before: Column) -> bool:
    must_be_given = (before.may_be_null and not now.may_be_null) or (before.has_default and not now.has_default)
    return must_be_given or (now.length or 10**9) < (before.length or 10**9)


def _rules(constraints: dict[str, Any]) -> dict[str, set[str]]:
    """SQLite numbers those without a name, so that one more could look like all of them."""
    found = {}
    for name, one in constraints.items():
        if one["unique"] or one["check"]:
            columns = {column for column in one["columns"] if column is not None}
            found["of " + " and ".join(sorted(columns)) if name.startswith("__") else name] = columns
    return found


def _columns(table: str) -> dict[str, Column]:
    if connection.vendor == "postgresql":
        return {name: Column(*rest) for name, *rest in _rows(POSTGRES_COLUMNS, [table])}
    found = {}
    for _, name, kind, is_needed, default, is_key in _rows(f"SELECT * FROM pragma_table_info('{table}')"):
        base, _, length = kind.rstrip(")").partition("(")
        given = default is not None or (is_key and base == "INTEGER")  # the number of the row
        found[name] = Column(not is_needed, given, base, int(length) if length.isdigit() else None)
    return found


def _rows(sql: str, given: list[Any] | None = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, given)
        return cursor.fetchall()
