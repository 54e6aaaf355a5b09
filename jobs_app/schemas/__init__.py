"""Payload schemas: what a job type takes, checked before it is stored and again before it runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from django.forms import Form, ModelForm

from jobs_app.errors import DefinitionInvalid
from jobs_app.schemas.annotations import dataclass_schema
from jobs_app.schemas.base import Field, PayloadSchema
from jobs_app.schemas.form_schema import FormSchema
from jobs_app.schemas.pydantic_schema import PydanticSchema, is_pydantic_model
from jobs_app.schemas.signatures import require_arguments, signature_schema

__all__ = ["Field", "PayloadSchema", "schema_for"]


def schema_for(
    function: Callable[..., Any], *, takes_context: bool = False, explicit: object | None = None
) -> PayloadSchema:
    """The schema of a handler: from its signature, or the one given, whose fields are then its arguments."""
    if explicit is None:
        return signature_schema(function, takes_context=takes_context)
    schema = _explicit_schema(explicit)
    require_arguments(function, (field.name for field in schema.fields), takes_context=takes_context)
    return schema


def _explicit_schema(explicit: object) -> PayloadSchema:
    if isinstance(explicit, type) and issubclass(explicit, (Form, ModelForm)):
        return FormSchema(explicit)
    if is_pydantic_model(explicit):
        return PydanticSchema(explicit)
    if isinstance(explicit, type) and dataclasses.is_dataclass(explicit):
        return dataclass_schema(explicit)
    raise DefinitionInvalid(f"schema must be a Form, a dataclass or a pydantic model (the class), not {explicit!r}")
