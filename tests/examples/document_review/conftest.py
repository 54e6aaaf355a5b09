"""A model that does what a document tells it, and documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest

from examples.document_review.language_model import Model
from examples.document_review.models import Document
from tests.examples.served import served
from tests.examples.site import Site

Write = Callable[..., Document]


class AtModel:
    """What a test says to the model and hears from it."""

    def __init__(self, url: str) -> None:
        self._url = url

    def calls(self) -> list[dict[str, Any]]:
        with urlopen(f"{self._url}reviews") as answer:
            return json.load(answer)

    def release(self) -> None:
        self._post("release")

    def book(self) -> None:
        self._post("book")

    def _post(self, path: str) -> None:
        with urlopen(Request(f"{self._url}{path}", method="POST")):
            pass


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[AtModel]:
    """In this process; its ledger knows nothing before it is told to book."""
    with served(Model(ledger_seconds=3600).answer) as url:
        monkeypatch.setenv("MODEL_URL", url)
        yield AtModel(url)


@pytest.fixture
def make_reviews(make_site: Callable[..., Site]) -> Callable[..., tuple[Site, AtModel]]:
    """A site, and the model as a program of its own."""

    def make(minute: float = 60) -> tuple[Site, AtModel]:
        site = make_site("document_review", minute=minute)
        return site, AtModel(site.start_program("examples.document_review.language_model", "MODEL_URL"))

    return make


@pytest.fixture
def write() -> Write:
    """A document with these paragraphs; in the first one are the moves of the model."""

    def write(title: str, *paragraphs: str, moves: str = "") -> Document:
        first, *others = paragraphs or ("Oaks live long.",)
        return Document.objects.create(
            title=title, text="\n\n".join([f"[[{moves}]] {first}" if moves else first, *others])
        )

    return write
