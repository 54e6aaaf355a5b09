"""The first rows of a query in the place of its table: what is asked of them reads no others, whatever it looks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Func, Model, Q, QuerySet, Value
from django.db.models.sql.compiler import SQLCompiler
from django.db.models.sql.datastructures import BaseTable

Row = TypeVar("Row", bound=Model)


def among(rows: QuerySet[Row]) -> QuerySet[Row]:
    """To filter, order and count these rows alone: of a query that was cut, the ORM itself refuses to."""
    asked: QuerySet[Row] = rows.model._default_manager.using(rows.db).order_by()
    alias = asked.query.get_initial_alias()
    asked.query.alias_map[alias] = _Rows(rows.model._meta.db_table, alias, rows)
    return asked


def beyond(names: Sequence[str], values: Sequence[Any], *, descending: bool, model: type[Model]) -> Q:
    """Rows after this one in the order of these columns. One comparison of all columns at once is answered by their
    index, also where thousands of rows share the first; `a < 1 OR a = 1 AND b < 2` is not."""
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    given = [Value(value, output_field=field) for value, field in zip(values, fields, strict=True)]
    return Q(_Comparison(_Tuple(*names), _Tuple(*given), arg_joiner=" < " if descending else " > "))


def held(name: str, value: Any, model: type[Model]) -> Q:
    """This column has this value, said so that only an index that begins with the column has the rows in an order that
    does. Of a plain equality PostgreSQL knows that it makes no order. It then walks along an index of the moments alone
    where it expects to meet the value soon: for ever, if the newest rows with it are old."""
    field: Any = model._meta.get_field(name)
    return Q(_Held(name, Value(value, output_field=field)))


class _Rows(BaseTable):
    """A query where FROM has a table, under the table's name."""

    def __init__(self, table_name: str, alias: str | None, rows: QuerySet[Any]) -> None:
        super().__init__(table_name, alias)
        self._rows = rows

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        sql, parameters = self._rows.query.get_compiler(connection=connection).as_sql()
        alias = self.table_alias
        return f"({sql}) {connection.ops.quote_name(alias) if alias == self.table_name else alias}", tuple(parameters)

    def relabeled_clone(self, change_map: dict[str | None, str]) -> _Rows:
        return _Rows(self.table_name, change_map.get(self.table_alias, self.table_alias), self._rows)


class _Tuple(Func):
    template = "(%(expressions)s)"
    output_field = BooleanField()  # it has none, and is only compared


class _Comparison(Func):
    template = "%(expressions)s"
    output_field = BooleanField()


class _Held(Func):
    arity = 2
    template = "%(expressions)s"
    arg_joiner = " = "
    output_field = BooleanField()

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        (column, above), (value, given) = (compiler.compile(each) for each in self.get_source_expressions())
        return f"{column} = ANY(ARRAY[{value}, {value}])", (*above, *given, *given)
