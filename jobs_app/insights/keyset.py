"""Pages that begin behind a row, so that page a thousand costs what the first one does: one step into an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import F, Func, Value
from django.db.models.expressions import Combinable
from django.db.models.fields import TextField
from django.db.models.lookups import GreaterThan, LessThan


def behind(columns: Sequence[str], values: Sequence[str], *, backwards: bool = False) -> Any:
    """What comes after these values in the order of the columns, or before them: as one comparison of whole rows, which
    a database answers from the index that has these columns."""
    compare = LessThan if backwards else GreaterThan
    return compare(_row([F(name) for name in columns]), _row([Value(value) for value in values]))


def _row(parts: Sequence[Combinable]) -> Func:
    return Func(*parts, template="(%(expressions)s)", output_field=TextField())
