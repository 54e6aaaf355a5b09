"""A gateway that remembers, a site that charges, and people who subscribe."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.request import Request, urlopen

import pytest
from django.utils import timezone

from examples.subscriptions import paying
from examples.subscriptions.gateway import Gateway
from examples.subscriptions.models import Plan, Subscription
from tests.examples.served import served
from tests.examples.site import Site

MONTH = timedelta(days=30)
Subscribe = Callable[..., Subscription]


class AtGateway:
    """What a test says to the gateway and hears from it."""

    def __init__(self, url: str) -> None:
        self.url = url

    def behave(self, payer: str, **behaviour: Any) -> None:
        self._post({"payers": {payer: behaviour}})

    def release(self) -> None:
        self._post({"release": True})

    def charges(self) -> list[dict[str, Any]]:
        with urlopen(f"{self.url}charges") as answer:
            return json.load(answer)

    def _post(self, told: dict[str, Any]) -> None:
        request = Request(f"{self.url}behaviour", json.dumps(told).encode(), {"Content-Type": "application/json"})
        with urlopen(request):
            pass


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[AtGateway]:
    with served(Gateway().answer) as url:
        monkeypatch.setattr(paying, "GATEWAY_URL", url)  # for what runs in this process
        yield AtGateway(url)


@pytest.fixture
def make_payments(make_site: Callable[..., Site], gateway: AtGateway) -> Callable[..., Site]:
    def make(minute: float = 60, **variables: str) -> Site:
        return make_site("subscriptions", minute=minute, GATEWAY_URL=gateway.url, **variables)

    return make


@pytest.fixture
def subscribe() -> Subscribe:
    """Somebody subscribes, and is due since an hour unless said otherwise."""

    def subscribe(payer: str, *, due_at: datetime | None = None, period: timedelta = MONTH, **facts: Any) -> Any:
        plan, _ = Plan.objects.get_or_create(
            name=f"every {period}", defaults={"amount": Decimal("4.90"), "period": period}
        )
        due_at = due_at or timezone.now() - timedelta(hours=1)
        return Subscription.objects.create(plan=plan, payer=payer, next_due_at=due_at, **facts)

    return subscribe
