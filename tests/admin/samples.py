"""An address of every page in a world that has one of everything, and for acts what is posted there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from tests.admin.world import World

Arguments = Callable[[World], tuple[object, ...]]


@dataclass(frozen=True)
class Sample:
    """`data` makes the act possible, so that its POST leads on to another page."""

    arguments: Arguments = lambda world: ()
    query: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)

    def url(self, name: str, world: World) -> str:
        address = reverse(f"admin:jobs_app_{name}", args=self.arguments(world))
        return f"{address}?{urlencode(self.query)}" if self.query else address


def named(name: str) -> Arguments:
    return lambda world: (name,)


WHY: Mapping[str, Any] = {"reason": "a test"}

SAMPLES: dict[str, Sample] = {
    "dashboard_pause_all": Sample(data=WHY),
    "dashboard_resume_all": Sample(data=WHY),
}
