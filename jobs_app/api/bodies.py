"""Bodies of requests: strict JSON of a bounded size and depth, or a refusal before any of it is used."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict
from ninja.parser import Parser

from jobs_app.api.problems import Problem
from jobs_app.conf import get_settings
from jobs_app.errors import PayloadInvalid
from jobs_app.strict_json import dumps, loads, require_depth

JSON = "application/json"
MOST_DIGITS = 20  # of a length; more are not read as a number, which would be slow


class StrictParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        """What no database could store is refused here, wherever in the body it stands."""
        if request.content_type != JSON:
            raise Problem(415, f"send the body as {JSON}, not as {request.content_type or 'something without a name'}.")
        raw = request.body
        require_size(len(raw))
        try:
            value = loads(raw, what="body")
            require_depth(value, limit=len(raw), what="body")
            if b"\\u" in raw:  # only so can NUL and halves of surrogate pairs come
                dumps(value, limit=6 * len(raw), what="body")
        except PayloadInvalid as problem:
            raise Problem(422, str(problem)) from None
        if not isinstance(value, dict):
            raise Problem(422, "the body is not a JSON object: send one, as {}.")
        return value

    def parse_querydict(self, data: MultiValueDict, list_fields: list[str], request: HttpRequest) -> Any:
        """Likewise. Bytes that are no UTF-8 were replaced before."""
        if any("\0" in value for _, values in data.lists() for value in values):
            raise Problem(422, "a parameter holds a NUL character, which PostgreSQL cannot store. Remove it.")
        return super().parse_querydict(data, list_fields, request)


def require_small_and_plain(request: HttpRequest) -> None:
    """Before anything of it is read: a host's own limit may be any."""
    given = request.META.get("CONTENT_LENGTH") or "0"
    if not (given.isascii() and given.isdigit()):
        raise Problem(422, "Content-Length is no number of bytes: leave it to your HTTP library.")
    require_size(int(given[:MOST_DIGITS]))
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise Problem(415, "bodies are taken as they are: send it without Content-Encoding.")


def require_size(size: int) -> None:
    most = get_settings().api_max_body_bytes
    if size > most:
        raise Problem(413, f"a body has {most} bytes at most: send less at once, in several requests.")
