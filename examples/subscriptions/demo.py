"""What the demo starts with: subscriptions that are due every few minutes of its quick clock."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

from examples.pace import minutes
from examples.programs import Program
from examples.subscriptions.models import Plan, Subscription

PROGRAMS = {"gateway": Program("examples.subscriptions.gateway", "GATEWAY_URL", 8103)}

PLANS = {"Basic": ("4.90", 30), "Pro": ("19.00", 60)}  # amount, minutes of the quick clock
PAYERS = {
    "Ada": "Basic",
    "Grace": "Pro",
    "Katherine": "Basic",
    "Joan": "Pro",
    "Flaky Fay": "Basic",
    "Broke Bob": "Basic",
}


def fill() -> None:
    """Each payer once; who has expired meanwhile is given another chance."""
    now = timezone.now()
    for name, (amount, period) in PLANS.items():
        facts = {"amount": Decimal(amount), "period": timedelta(seconds=minutes(period))}
        Plan.objects.get_or_create(name=name, defaults=facts)
    for payer, plan in PAYERS.items():
        Subscription.objects.get_or_create(payer=payer, plan=Plan.objects.get(name=plan), defaults={"next_due_at": now})
    expired = Subscription.objects.filter(payer__in=PAYERS, status=Subscription.Status.EXPIRED)
    expired.update(status=Subscription.Status.ACTIVE, next_due_at=now)
