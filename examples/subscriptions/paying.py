"""The talk with the gateway: one charge under one key, however often it is asked for."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import environ

from examples.subscriptions.models import Subscription

GATEWAY_URL: str = environ.Env().str("GATEWAY_URL", default="http://127.0.0.1:8103/")


class Declined(Exception):
    """The gateway said no, with its reason."""


def key_of(subscription: Subscription) -> str:
    """One for what is due at one moment: a repeat of the job, on whichever worker, asks for the same charge."""
    return f"{subscription.pk}-{subscription.next_due_at:%Y%m%dT%H%M%S.%fZ}"


def charge_at_gateway(subscription: Subscription, *, seconds: float) -> str:
    """Its reference at the gateway."""
    plan = subscription.plan
    wanted = {"payer": subscription.payer, "amount": str(plan.amount), "currency": plan.currency}
    headers = {"Content-Type": "application/json", "Idempotency-Key": key_of(subscription)}
    request = Request(f"{GATEWAY_URL}charges", json.dumps(wanted).encode(), headers)
    try:
        with urlopen(request, timeout=seconds) as answer:
            told: dict[str, Any] = json.load(answer)
    except HTTPError as error:
        if error.code == 402:
            raise Declined(json.load(error)["error"]) from None
        raise
    return str(told["reference"])
