"""What a browser would send: the form of an act as its page gives it."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

OUR_FORM = "jobs-form"


def filled_in(page: str) -> dict[str, Any]:
    """The fields of the act's form with the values that they have, by name."""
    reader = _FormReader()
    reader.feed(page)
    return reader.values


class _FormReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, Any] = {}
        self._is_ours = False
        self._select = self._text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag == "form":
            self._is_ours = OUR_FORM in (given.get("class") or "").split()
        elif self._is_ours:
            getattr(self, f"_read_{tag}", lambda given: None)(given)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._is_ours = False
        self._text = "" if tag == "textarea" else self._text

    def handle_data(self, data: str) -> None:
        if self._text:
            self.values[self._text] += data

    def _read_input(self, given: dict[str, str | None]) -> None:
        name, kind = given.get("name"), given.get("type")
        if not name or (kind in ("checkbox", "radio") and "checked" not in given):
            return
        value = given.get("value") or ("on" if kind == "checkbox" else "")
        if kind == "hidden" and name in self.values:
            self.values[name] = [*_listed(self.values[name]), value]
        else:
            self.values[name] = value

    def _read_textarea(self, given: dict[str, str | None]) -> None:
        self._text = given.get("name") or ""
        self.values[self._text] = ""

    def _read_select(self, given: dict[str, str | None]) -> None:
        self._select = given.get("name") or ""

    def _read_option(self, given: dict[str, str | None]) -> None:
        """The first one, unless another is chosen."""
        if "selected" in given or self._select not in self.values:
            self.values[self._select] = given.get("value") or ""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
