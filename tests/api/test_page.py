"""The description of the interface: a document that other tools read, and a page of it that needs no script."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from django.contrib.staticfiles import finders
from django.test import Client

import jobs_app
from tests.api.operations import OPERATIONS
from tests.api.speaking import ROOT


class Markup(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def links(self) -> list[str]:
        return [value or "" for _, given in self.tags for name, value in given.items() if name in ("href", "src")]


@pytest.fixture
def page() -> Markup:
    answer = Client().get(f"{ROOT}docs")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/html; charset=utf-8"
    return Markup(answer.content.decode())


@pytest.fixture
def document() -> dict[str, Any]:
    answer = Client().get(f"{ROOT}openapi.json")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def test_the_page_lists_every_operation_once(page: Markup) -> None:
    words = page.text.split()
    pairs = Counter(pairwise(words))
    for operation in OPERATIONS.values():
        assert pairs[operation.method, ROOT + operation.path] == 1, operation.name
    assert jobs_app.__version__ in page.text


def test_the_page_tells_what_each_operation_takes_and_gives(page: Markup, document: dict[str, Any]) -> None:
    for _path, _method, operation in operations(document):
        assert operation["description"].split(".")[0] in page.text
        for parameter in operation.get("parameters", ()):
            assert parameter["name"] in page.text
    for shape in document["components"]["schemas"].values():
        if shape["title"].endswith("Body") and shape["title"] != "ProblemBody":
            assert not [name for name in shape["properties"] if name not in page.text], shape["title"]


def test_the_page_has_no_script_and_nothing_inline(page: Markup) -> None:
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "style", "iframe", "object", "embed", "base", "form", "img", "svg"}
    for tag, attributes in page.tags:
        inline = [name for name in attributes if name == "style" or name.startswith("on")]
        assert not inline, tag


def test_the_page_takes_nothing_from_elsewhere(page: Markup) -> None:
    assert page.links
    for link in page.links:
        assert link.startswith(("/", "#")), link
        assert not link.startswith("//"), link
    assert "://" not in "".join(page.links)


def test_its_style_sheet_is_there_and_takes_nothing_from_elsewhere_either(page: Markup) -> None:
    sheets = [given["href"] or "" for tag, given in page.tags if tag == "link"]
    assert sheets == ["/static/jobs_app/api.css"]
    path = finders.find("jobs_app/api.css")
    assert path
    style = Path(path).read_text()
    assert "@import" not in style
    assert "url(" not in style


def test_the_page_needs_no_token_and_no_session(page: Markup, db: None) -> None:
    answer = Client(headers={"Authorization": "Bearer wrong"}).get(f"{ROOT}docs")
    assert answer.status_code == 200
    assert not answer.cookies


def test_the_page_is_whole_markup(page: Markup) -> None:
    ids = [given["id"] for _, given in page.tags if "id" in given]
    assert len(ids) == len(set(ids)) >= len(OPERATIONS)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(ids)
    assert [tag for tag, _ in page.tags][:2] == ["html", "head"]
    assert any(tag == "html" and given.get("lang") for tag, given in page.tags)


def test_the_document_is_openapi(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    schemathesis.openapi.from_dict(document).validate()
    for name, shape in document["components"]["schemas"].items():
        assert jsonschema_rs.meta.is_valid(shape), name


def test_the_document_names_every_operation_once(document: dict[str, Any]) -> None:
    names = Counter(operation["operationId"] for _, _, operation in operations(document))
    assert names == dict.fromkeys(OPERATIONS, 1)
    for _path, _method, operation in operations(document):
        assert operation["description"]
        assert operation["security"] == [{"Bearer": []}]
    assert document["components"]["securitySchemes"]["Bearer"]["scheme"] == "bearer"


def test_every_shape_that_is_named_is_there(document: dict[str, Any]) -> None:
    named = {each.split('"')[0] for each in json.dumps(document).split('"#/components/schemas/')[1:]}
    assert named
    assert named <= set(document["components"]["schemas"])


def test_bodies_take_no_names_but_those_that_are_told(document: dict[str, Any]) -> None:
    for name, shape in document["components"]["schemas"].items():
        if name.endswith("Body") and name != "ProblemBody":
            assert shape["additionalProperties"] is False, name


def test_a_host_may_put_it_at_another_address(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.api.elsewhere"
    document = Client().get("/work/queue/api/openapi.json").json()
    assert all(path.startswith("/work/queue/api/") for path in document["paths"])
    assert "/work/queue/api/runs" in Client().get("/work/queue/api/docs").content.decode()
