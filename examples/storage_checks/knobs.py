"""What the environment may say: one field for each variable, with its default and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

import environ
from django.core.exceptions import ImproperlyConfigured

RATE = "A fraction is fine: 0.25 is every four hours."
ANY = float("inf")


def _from(least: float, default: Any, most: float = ANY, *, hint: str = "") -> Any:
    return field(default=default, metadata={"least": least, "most": most, "hint": hint})


@dataclass(frozen=True, kw_only=True)
class Knobs:
    """DEALS_PER_SP_PER_HOUR there is deals_per_sp_per_hour here. Periods follow `examples.pace`, as all of them do."""

    deals_per_sp_per_hour: float = _from(0.001, 4.0, 20, hint=RATE)
    retrievals_per_sp_per_hour: float = _from(0.001, 6.0, 20, hint=RATE)
    metrics_per_hour: float = _from(0.001, 2.0, 3, hint=RATE)
    deal_timeout_seconds: float = _from(120, 360.0, hint="A sound provider may need so long.")
    retrieval_timeout_seconds: float = _from(60, 60.0, hint="A sound provider may need so long.")
    job_catchup_spread_hours: float = _from(0, 3.0, hint="0 does not spread.")
    metrics_keep_days: float = _from(1, 90.0)
    use_only_approved_providers: bool = True
    disable_chain: bool = False  # leaves alone what is known of providers: no preparation, no look into the registry
    chain_url: str = "http://127.0.0.1:8105/"

    def __post_init__(self) -> None:
        problems = [
            told for each in fields(self) if (told := _problem(each.name, getattr(self, each.name), each.metadata))
        ]
        if problems:
            raise ImproperlyConfigured("\n".join(problems))


def read(env: environ.Env) -> Knobs:
    """ImproperlyConfigured says all that cannot be used, and no process starts."""
    types = get_type_hints(Knobs)
    given = [each.name for each in fields(Knobs) if each.name.upper() in env.ENVIRON]
    return Knobs(**{name: _value(env, name.upper(), types[name]) for name in given})


def _value(env: environ.Env, variable: str, kind: type) -> Any:
    try:
        return env.get_value(variable, cast=kind)
    except ValueError:
        raise ImproperlyConfigured(f"{variable} must be a number, not {env.ENVIRON[variable]!r}.") from None


def _problem(name: str, value: Any, rule: Mapping[str, Any]) -> str | None:
    if not rule or rule["least"] <= value <= rule["most"]:
        return None
    limits = f"{rule['least']:g} or more" if rule["most"] == ANY else f"from {rule['least']:g} to {rule['most']:g}"
    return f"{name.upper()} must be {limits}, not {value:g}. {rule['hint']}".strip()


KNOBS = read(environ.Env())
