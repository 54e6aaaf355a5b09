"""Tables of another package as they are stored, whether or not the package is still installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from jobs_app.errors import TableMissing

Row: TypeAlias = Mapping[str, Any]


def read(
    connection: BaseDatabaseWrapper, table: str, *, required: Sequence[str], others: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """All rows, the oldest first, with their moments aware. A column that this version of the table lacks is None."""
    if not exists(connection, table):
        raise TableMissing(
            f"there is no table {table} in database {connection.alias!r}. If it is in another one, name that with "
            "--database. If it was dropped, bring it back from a backup, or make the schedules by hand."
        )
    with connection.cursor() as cursor:
        described = connection.introspection.get_table_description(cursor, table)
        present = {column.name for column in described}
        if lacking := [name for name in required if name not in present]:
            raise TableMissing(f"the table {table} has no column {', '.join(lacking)}: it is not the one to import.")
        wanted = [name for name in (*required, *others) if name in present]
        quote = connection.ops.quote_name
        columns = ", ".join(map(quote, wanted))
        cursor.execute(f"SELECT {columns} FROM {quote(table)} ORDER BY {quote('id')}")
        found = [dict(zip(wanted, row, strict=True)) for row in cursor.fetchall()]
    absent = dict.fromkeys(others)
    return [absent | {name: _aware(connection, value) for name, value in row.items()} for row in found]


def exists(connection: BaseDatabaseWrapper, table: str) -> bool:
    with connection.cursor() as cursor:
        return table in connection.introspection.table_names(cursor)


def by_id(
    connection: BaseDatabaseWrapper, table: str, *, required: Sequence[str], others: Sequence[str] = ()
) -> dict[Any, Row]:
    """A table that others refer to; older versions of a package may not have had it."""
    if not exists(connection, table):
        return {}
    return {row["id"]: row for row in read(connection, table, required=("id", *required), others=others)}


def _aware(connection: BaseDatabaseWrapper, value: Any) -> Any:
    """PostgreSQL gives moments with their zone, other databases the time of the zone that Django stores them in."""
    if not isinstance(value, datetime):
        return value
    zone = connection.timezone or timezone.get_default_timezone()
    try:
        return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)
    except OverflowError:  # at an end of the calendar, where hours make no difference: no schedule stands there
        return value.replace(tzinfo=UTC)
