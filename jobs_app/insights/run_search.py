"""What people type into the search of runs: qualifiers that name a filter, conditions on the payload, ids and text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from jobs_app.redaction import is_secret

# A word of the search -> the filter that it is another spelling of.
QUALIFIERS = {
    "type": "job_type",
    "queue": "queue",
    "subject": "subject",
    "error": "error",
    "worker": "worker",
    "state": "state",
}
PAYLOAD = "payload."
NAMES = "|".join(["id", r"payload\.[^\s:\"]+", *QUALIFIERS])
TERM = re.compile(rf'(?:(?P<name>{NAMES}):)?(?:"(?P<quoted>[^"]*)"|(?P<bare>\S+))')


@dataclass(frozen=True, kw_only=True)
class Search:
    """What is left of a search when its qualifiers have become filters."""

    run_id: UUID | None = None
    text: str = ""  # in the subject or in the error
    payload: tuple[tuple[str, str], ...] = ()  # path with dots -> the value, as text

    def __str__(self) -> str:
        """As it would be typed."""
        parts = [f"{PAYLOAD}{path}:{_quoted(value)}" for path, value in self.payload]
        parts += [str(self.run_id)] if self.run_id else []
        return " ".join([*parts, *([_as_text(self.text)] if self.text else [])])

    def __bool__(self) -> bool:
        return bool(self.run_id or self.text or self.payload)


def parse(typed: str) -> tuple[Search, dict[str, str]]:
    """The search, and the filters that its qualifiers name. ValueError says what cannot be searched for."""
    run_id: UUID | None = None
    filters: dict[str, str] = {}
    payload: list[tuple[str, str]] = []
    words: list[str] = []
    for term in TERM.finditer(typed):
        name, value = term["name"] or "", term["bare"] or term["quoted"].strip()
        if name in QUALIFIERS:
            filters[QUALIFIERS[name]] = value
        elif name.startswith(PAYLOAD):
            payload.append((_path(name.removeprefix(PAYLOAD)), value))
        elif found := _id_in(term):
            run_id = found
        elif name:
            raise ValueError(_("%(value)s is not the id of a run: an id is a UUID") % {"value": repr(value)})
        elif value:
            words.append(value)
    return Search(run_id=run_id, text=" ".join(words), payload=tuple(payload)), filters


def _id_in(term: re.Match[str]) -> UUID | None:
    try:
        return UUID(term["bare"])
    except (ValueError, TypeError, AttributeError):
        return None


def _path(path: str) -> str:
    """Where a value is hidden from eyes, it cannot be guessed at by searching either."""
    for name in path.split("."):
        if not name:
            raise ValueError(_("%(path)s names no key of a payload") % {"path": repr(path)})
        if is_secret(name):
            raise ValueError(_("%(name)s is hidden, and cannot be searched") % {"name": repr(name)})
    return path


def _as_text(text: str) -> str:
    """In quotes where it would be read as something else."""
    is_plain = not any(term["name"] or _id_in(term) for term in TERM.finditer(text))
    return text if is_plain else f'"{text.replace(chr(34), "")}"'


def _quoted(value: str) -> str:
    return f'"{value}"' if not value or re.search(r"\s", value) else value
