"""A pydantic model as the schema of a payload, known by its methods so that pydantic need not be installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs_app.errors import DefinitionInvalid, PayloadInvalid
from jobs_app.schemas.base import Field, misfit, require_mapping, unknown


def is_pydantic_model(value: object) -> bool:
    return isinstance(value, type) and hasattr(value, "model_validate") and hasattr(value, "model_fields")


class PydanticSchema:
    """Aliases and validators are the model's own; fields that it does not know are refused unless it is open."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._is_open = model.model_config.get("extra") == "allow"
        self._names = frozenset(name for key, info in model.model_fields.items() for name in (key, info.alias) if name)
        self.fields = tuple(_field(name, info) for name, info in model.model_fields.items())

    def dump(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        dumped: dict[str, Any] = self._validate(kwargs).model_dump(mode="json", by_alias=True, exclude_unset=True)
        return dumped

    def load(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        model = self._validate(payload)
        return {field.name: getattr(model, field.name) for field in self.fields} | (model.model_extra or {})

    def without_defaults(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        model = self._validate(payload)
        dumped: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_defaults=True)
        return dumped

    def _validate(self, values: Mapping[str, Any]) -> Any:
        require_mapping(values)
        strangers = values.keys() - self._names
        if strangers and not self._is_open:
            raise misfit({name: unknown(name, self._names) for name in strangers})
        try:
            return self._model.model_validate(dict(values))
        except ValueError as error:  # pydantic's ValidationError is one
            raise _translated(error) from None  # its own text has the values


def _field(name: str, info: Any) -> Field:
    if info.validation_alias != info.serialization_alias:
        raise DefinitionInvalid(f"{name}: is written and read under different names. Give it one alias=.")
    required = info.is_required()
    return Field(
        name=name,
        annotation=info.annotation,
        required=required,
        default=None if required else info.get_default(call_default_factory=True),
        help=info.description or "",
        alias=info.alias or "",
    )


def _translated(error: ValueError) -> PayloadInvalid:
    faults = getattr(error, "errors", None)
    if faults is None:
        return PayloadInvalid(str(error))
    return misfit({".".join(map(str, fault["loc"])) or "payload": fault["msg"] for fault in faults()})
