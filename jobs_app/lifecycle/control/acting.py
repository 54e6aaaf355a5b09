"""What all acts of operators have in common: who may, what changed, and the event that tells it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import OptionInvalid
from jobs_app.models import ControlEvent
from jobs_app.text import clean

APP = "jobs_app"
LONGEST_REASON = 2000
LONGEST_ACTOR = 150
LONGEST_TARGET = 200


@dataclass(kw_only=True)
class Acted:
    """What an act changed, and what it left as it was and why. True if it changed anything."""

    moved: list[Any] = field(default_factory=list)  # ids of runs or schedules, names of pauses and queues
    skipped: dict[Any, str] = field(default_factory=dict)
    asked: list[UUID] = field(default_factory=list)  # of `moved`, those that run on until they notice
    new_runs: dict[UUID, UUID] = field(default_factory=dict)  # run -> the new run that repeats it
    jobs: int = 0  # parked or opened by a pause so far
    more: bool = False  # workers go on with the others
    note: str = ""

    def __bool__(self) -> bool:
        return bool(self.moved)

    def add(self, other: Acted) -> None:
        self.moved += other.moved
        self.asked += other.asked
        self.skipped |= other.skipped
        self.new_runs |= other.new_runs


@dataclass(frozen=True, kw_only=True)
class Act:
    """One act: what is done, by whom and why."""

    name: str
    actor: str
    reason: str
    user: Any = None  # None where code acts, which may do everything
    about: Mapping[str, Any] = field(default_factory=dict)  # what each of its events tells besides

    def may(self, permission: str | None) -> bool:
        return permission is None or self.user is None or self.user.has_perm(permission)

    def record(
        self, connection: BaseDatabaseWrapper, kind: str, target: str, acted: Acted, detail: Mapping[str, Any]
    ) -> ControlEvent:
        """Write it down, in the transaction that does it."""
        reasons = Counter(acted.skipped.values())
        return ControlEvent.objects.using(connection.alias).create(
            actor=self.actor,
            action=self.name,
            target_kind=kind,
            target=clean(target, LONGEST_TARGET),
            reason=self.reason,
            moved=len(acted.moved),
            skipped=len(acted.skipped),
            detail={**self.about, **detail, **({"skipped": dict(reasons)} if reasons else {})},
        )


def begin(name: str, permission: str, actor: Any, reason: str) -> Act:
    """Who acts, if they may: a user with the permission, or code under a name. Else PermissionDenied."""
    if not isinstance(reason, str):
        raise OptionInvalid(f"{name}: reason={reason!r} cannot be used: use text.")
    reason = clean(reason, LONGEST_REASON)
    if isinstance(actor, str):
        return Act(name=name, actor=clean(actor, LONGEST_ACTOR), reason=reason)
    if not hasattr(actor, "has_perm"):
        raise OptionInvalid(f"{name}: actor={actor!r} cannot be used: give the user who acts, or a name.")
    full_name = f"{APP}.{permission}"
    if not actor.is_active or not actor.has_perm(full_name):
        raise PermissionDenied(f"{name}: {actor.get_username() or 'an anonymous user'} has no permission {full_name}.")
    return Act(name=name, actor=clean(actor.get_username(), LONGEST_ACTOR), reason=reason, user=actor)
