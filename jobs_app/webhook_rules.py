"""Webhooks as the settings name them: who is told of which ends of runs, and with which secret that is signed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import SplitResult, urlsplit

from jobs_app import values
from jobs_app.errors import SettingsInvalid
from jobs_app.limits import SYSTEM_NAMES as OWN_NAMES
from jobs_app.options import did_you_mean
from jobs_app.windows import names

SETTING = "settings.JOBS['WEBHOOKS']"
REQUIRED = ("name", "url", "secret")
DELIVERIES = "jobs.webhook"  # how the names of the job types that tell webhooks begin
NOT_SHOWN = ("url", "secret")  # the path of a URL is often as secret as the secret
ONLY_FAILED = frozenset({"failed"})
MOST_SECRETS = 2  # the new one and the old one, while receivers change over
PLAIN = re.compile(r"[!-~]+")
HOST_NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]*")
MAKE_ONE = 'python -c "import secrets; print(secrets.token_urlsafe(32))"'


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """Runs that end in one of the states are told to `url`: of all job types and queues, unless it names some."""

    name: str
    url: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    states: frozenset[str] = frozenset(values.ENDS)
    job_types: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    grouped: bool = False  # told of failures only: of many at once, by one request

    @property
    def host(self) -> str:
        """All of the URL that may be shown."""
        return urlsplit(self.url).hostname or ""

    def wants(self, *, state: str, job_type: str, queue: str) -> bool:
        """Is it to be told of such a run? Never of a delivery, or each would cause another one; and of the app's other
        jobs only together with more, where they fail."""
        if state not in self.states or job_type.startswith(DELIVERIES if self.grouped else OWN_NAMES):
            return False
        return (not self.job_types or job_type in self.job_types) and (not self.queues or queue in self.queues)


def from_settings(given: Any) -> tuple[Webhook, ...]:
    """`settings.JOBS["WEBHOOKS"]`: a list of dicts. What is wrong is told without what should not be shown."""
    if not isinstance(given, list | tuple):
        raise SettingsInvalid(f"{SETTING} must be a list of dicts, not a {type(given).__name__}.")
    found = tuple(_from_setting(one, f"{SETTING}[{number}]") for number, one in enumerate(given))
    known: set[str] = set()
    for number, webhook in enumerate(found):
        if webhook.name in known:
            raise SettingsInvalid(f"{SETTING}[{number}]: there are two named {webhook.name!r}. Give one another name.")
        known.add(webhook.name)
    return found


def _from_setting(given: Any, where: str) -> Webhook:
    if not isinstance(given, Mapping):
        raise SettingsInvalid(f"{where} must be a dict with {', '.join(REQUIRED)}, not a {type(given).__name__}.")
    chosen = {str(name): _read(str(name), value, where) for name, value in given.items()}
    for name in REQUIRED:
        if name not in chosen:
            raise SettingsInvalid(f"{where} has no {name}: give {', '.join(REQUIRED)}.")
    if chosen.get("grouped") and chosen.setdefault("states", ONLY_FAILED) != ONLY_FAILED:
        raise SettingsInvalid(f"{where}: only failures are grouped. Leave out states, or grouped.")
    return Webhook(secrets=chosen.pop("secret"), **chosen)


def _read(name: str, value: Any, where: str) -> Any:
    if name not in READERS:
        raise SettingsInvalid(f"{where}: there is no option {name!r}.{did_you_mean(name, READERS)}")
    try:
        return READERS[name](value)
    except ValueError as problem:
        shown = "" if name in NOT_SHOWN else f"={value!r}"
        raise SettingsInvalid(f"{where}: {name}{shown} cannot be used: {problem}.") from None


def read_url(value: object) -> str:
    if not isinstance(value, str) or not PLAIN.fullmatch(value):
        raise ValueError("use text without blanks, and with other than ASCII characters as %.. or xn--..")
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise ValueError("its host or its port cannot be read") from None
    if parts.scheme not in ("http", "https") or not _is_host(parts):
        raise ValueError("use http:// or https:// and a host, such as https://example.com/hooks/jobs")
    if "@" in parts.netloc:
        raise ValueError("leave out the user and the password: the signature tells the receiver who sends")
    if port == 0:
        raise ValueError("use a port from 1 to 65535")
    return value


def _is_host(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    try:
        if "[" in parts.netloc:
            return bool(IPv6Address(host))
        return HOST_NAME.fullmatch(host) is not None and bool(host.encode("idna"))
    except ValueError:
        return False


def read_secrets(value: object) -> tuple[str, ...]:
    given = value if isinstance(value, list | tuple) else [value]
    if not 1 <= len(given) <= MOST_SECRETS:
        raise ValueError("use one secret, or a list of two while receivers change from one to the other")
    try:
        return tuple(values.text(each, shortest=16, longest=1000) for each in given)
    except ValueError as problem:
        raise ValueError(f"{problem}; make one with {MAKE_ONE}") from None


def read_states(value: object) -> frozenset[str]:
    if not isinstance(value, list | tuple | set | frozenset):
        raise ValueError(f"use a list of some of {', '.join(values.ENDS)}")
    return frozenset(values.choice(each, of=values.ENDS) for each in value) or frozenset(values.ENDS)


def read_job_types(value: object) -> frozenset[str]:
    found = names(value)
    if any(name.startswith(OWN_NAMES) for name in found):
        raise ValueError("the app's own job types cannot be chosen")
    return found


READERS: Mapping[str, Callable[[Any], Any]] = {
    "name": values.name,
    "url": read_url,
    "secret": read_secrets,
    "states": read_states,
    "job_types": read_job_types,
    "queues": names,
    "grouped": values.flag,
}
