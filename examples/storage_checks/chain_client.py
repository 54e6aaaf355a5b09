"""The talk with the chain: what a provider could not do is an error, in whichever way the chain says it."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import Request, urlopen

from examples.storage_checks.knobs import KNOBS

PATIENCE_SECONDS = 10  # for what takes no time
CHAIN_URL = KNOBS.chain_url


class CheckFailed(Exception):
    """What the provider did not do, as the chain tells it."""


def allow_payments() -> None:
    """The chain may take from our wallet what the deals cost. Once is enough, again does no harm."""
    _ask("allowances", {})


def listed_providers() -> list[dict[str, Any]]:
    """All in the registry, of all networks."""
    listed: list[dict[str, Any]] = _ask("providers")
    return listed


def store_and_prove(provider: str, seconds: float) -> str:
    """The piece that it stored."""
    return _checked("deals", provider, seconds)


def fetch_and_compare(provider: str, seconds: float) -> str:
    """The piece that it gave back."""
    return _checked("retrievals", provider, seconds)


def _checked(path: str, provider: str, seconds: float) -> str:
    told: dict[str, str] = _ask(path, {"provider": provider}, seconds)
    if "error" in told:  # with status 200, as if that were an answer
        raise CheckFailed(f"{provider}: {told['error']}")
    return told["piece"]


def _ask(path: str, body: dict[str, Any] | None = None, seconds: float = PATIENCE_SECONDS) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{CHAIN_URL}{path}", data), timeout=seconds) as answer:
        return json.load(answer)
