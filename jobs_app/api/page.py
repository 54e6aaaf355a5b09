"""The description of the interface as a page: made here, without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from ninja import NinjaAPI
from ninja.openapi.docs import DocsBase

TEMPLATE = "jobs_app/api.html"


class Value(NamedTuple):
    """One name of a query or of a body."""

    name: str
    kind: str
    is_required: bool
    told: str


class OperationView(NamedTuple):
    method: str
    path: str
    about: str
    takes: list[Value]
    gives: list[Value]
    refusals: list[tuple[str, str]]


class Page(DocsBase):
    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        schema = api.get_openapi_schema()
        groups: dict[str, list[OperationView]] = {}
        for tag, operation in _operations(schema):
            groups.setdefault(tag, []).append(operation)
        context = {"groups": groups, "title": api.title, "version": api.version, "description": api.description}
        context["shapes"] = _named_shapes(schema["components"]["schemas"], groups)
        context["schema_url"] = reverse(f"{api.urls_namespace}:openapi-json")
        return TemplateResponse(request, TEMPLATE, context).render()


def _operations(schema: Mapping[str, Any]) -> Iterator[tuple[str, OperationView]]:
    shapes = schema["components"]["schemas"]
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            responses = operation["responses"]
            yield (
                operation["tags"][0],
                OperationView(
                    method=method.upper(),
                    path=path,
                    about=operation.get("description", ""),
                    takes=[*_parameters(operation), *_body(operation, shapes)],
                    gives=_fields(responses[200]["content"]["application/json"]["schema"], shapes),
                    refusals=[(str(status), responses[status]["description"]) for status in sorted(responses)[1:]],
                ),
            )


def _named_shapes(shapes: Mapping[str, Any], groups: Mapping[str, list[OperationView]]) -> dict[str, list[Value]]:
    """What the operations name as the kind of a value, and what those name in turn."""
    found: dict[str, list[Value]] = {}
    values = [value for each in groups.values() for one in each for value in (*one.takes, *one.gives)]
    while values:
        named = {word for value in values for word in value.kind.split() if word in shapes} - found.keys()
        fresh = {name: _fields(shapes[name], shapes) for name in sorted(named)}
        found |= fresh
        values = [value for fields in fresh.values() for value in fields]
    return found


def _parameters(operation: Mapping[str, Any]) -> Iterator[Value]:
    for each in operation.get("parameters", ()):
        told = each.get("description") or each["schema"].get("description", "")
        yield Value(each["name"], _kind(each["schema"]), each["required"], told)


def _body(operation: Mapping[str, Any], shapes: Mapping[str, Any]) -> list[Value]:
    body = operation.get("requestBody")
    return _fields(body["content"]["application/json"]["schema"], shapes) if body else []


def _fields(shape: Mapping[str, Any], shapes: Mapping[str, Any]) -> list[Value]:
    shape = _resolved(shape, shapes)
    required = shape.get("required", ())
    return [
        Value(name, _kind(each), name in required, each.get("description", ""))
        for name, each in shape.get("properties", {}).items()
    ]


def _resolved(shape: Mapping[str, Any], shapes: Mapping[str, Any]) -> Mapping[str, Any]:
    for each in (shape, *shape.get("allOf", ())):
        if "$ref" in each:
            found: Mapping[str, Any] = shapes[each["$ref"].rpartition("/")[2]]
            return found
    return shape


def _kind(shape: Mapping[str, Any]) -> str:
    """A word or two for a reader; the whole truth is in the document itself."""
    if "anyOf" in shape:
        return " or ".join(_kind(each) for each in shape["anyOf"])
    if "enum" in shape:
        return " | ".join(repr(each) for each in shape["enum"])
    for each in (shape, *shape.get("allOf", ())):
        if "$ref" in each:
            return str(each["$ref"].rpartition("/")[2])
    if shape.get("type") == "array":
        return f"list of {_kind(shape['items'])}"
    return str(shape.get("format") or shape.get("type") or "any")
