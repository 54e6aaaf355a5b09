"""What bodies and queries of several operations have in common."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    model_validator,
)

from jobs_app.options import did_you_mean

LONGEST_NAME = 120  # of a queue or a job type
UUID_TEXT = r"^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$"
DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d")


class Strict(BaseModel):
    """A body: no unknown names, no numbers as text."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _require_few_names(cls, value: Any) -> Any:
        """To tell each unknown one would take seconds where there are a hundred thousand."""
        if isinstance(value, dict) and len(value) > 2 * len(cls.model_fields):
            raise ValueError(f"it has {len(value)} names; known are {', '.join(cls.model_fields)}")
        return value


class Asked(BaseModel):
    """A query: no unknown names here either. A slip of the pen would ask for more than was meant, without a word."""

    @model_validator(mode="before")
    @classmethod
    def _require_known_names(cls, value: Any, told: ValidationInfo) -> Any:
        given = told.context["request"].GET if told.context else ()
        if unknown := [name for name in given if name not in cls.model_fields]:
            raise ValueError(f"there is no parameter {unknown[0]!r}.{did_you_mean(unknown[0], cls.model_fields)}")
        return value


def _written_out(value: Any) -> Any:
    if isinstance(value, str) and DATE_AND_TIME.match(value):
        return value
    raise ValueError("use a date, a time and a zone, as 2026-01-31T09:00:00Z")


Id = Annotated[str, StringConstraints(pattern=UUID_TEXT)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME)]
Text = Annotated[str, StringConstraints(max_length=200)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Why = Annotated[str, StringConstraints(max_length=2000)]
PageSize = Annotated[int, Field(ge=1, le=200)]
# Without the check in front a number would do, as seconds since 1970.
Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_written_out)]
