"""Which refusals an operation may answer with, as its description has them."""

from __future__ import annotations

from typing import Any

from jobs_app.api.problems import ProblemBody

ALWAYS = (401, 403, 422, 429, 503)
WITH_BODY = (413, 415)


def answers(shape: Any, *others: int, body: bool = False) -> dict[Any, Any]:
    """The shape of its success, and that of every refusal."""
    return {200: shape, frozenset((*ALWAYS, *(WITH_BODY if body else ()), *others)): ProblemBody}
