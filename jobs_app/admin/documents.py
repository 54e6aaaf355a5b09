"""JSON and long texts as pages show them and files have them: readable, sendable, no longer than a page can bear."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from django.http import HttpResponse

from jobs_app.text import visible

MOST_CHARACTERS = 64 * 1024  # of each text on a page; the rest is in a file


class Excerpt(NamedTuple):
    """As much of a text as a page can bear."""

    text: str
    is_cut: bool


def pretty(value: Any) -> str:
    """JSON as people read it. Large numbers stay exact, since no script touches them."""
    return visible(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def json_to_type(value: Any) -> str:
    """JSON as people change it: what no page can send is written as JSON writes it."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()


def head(text: str, *, limit: int = MOST_CHARACTERS) -> Excerpt:
    return Excerpt(visible(text[:limit]), len(text) > limit)


def tail(text: str, *, limit: int = MOST_CHARACTERS) -> Excerpt:
    """Logs and tracebacks say most at their end."""
    return Excerpt(visible(text[-limit:]), len(text) > limit)


def download(content: str, *, kind: str, name: str) -> HttpResponse:
    """A file to keep; a browser must not take it for a page, whatever it looks like."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(content, content_type=f"{kind}; charset=utf-8", headers=headers)
