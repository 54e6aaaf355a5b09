"""What is paid for, by whom, and every try to pay."""

from __future__ import annotations

from datetime import timedelta

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

SHORTEST_PERIOD = timedelta(seconds=1)


class Plan(models.Model):
    """Without a period it would be due for ever, so there is none without."""

    name = models.CharField(max_length=100, unique=True)
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    currency = models.CharField(max_length=3, default="EUR")
    period = models.DurationField(validators=[MinValueValidator(SHORTEST_PERIOD)])

    class Meta:
        constraints = (
            models.CheckConstraint(name="plan_has_a_period", condition=Q(period__gte=SHORTEST_PERIOD)),
            models.CheckConstraint(name="plan_costs_something", condition=Q(amount__gt=0)),
        )

    def __str__(self) -> str:
        return self.name


class Subscription(models.Model):
    class Status(models.TextChoices):
        ACTIVE = "ACTIVE"
        CANCELLED = "CANCELLED"
        EXPIRED = "EXPIRED"  # its last payment failed for good

    plan = models.ForeignKey(Plan, models.PROTECT)
    payer = models.CharField(max_length=100)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    next_due_at = models.DateTimeField(db_index=True)
    last_paid_at = models.DateTimeField(null=True, blank=True)
    expired_by = models.UUIDField("run that expired it", null=True, blank=True, editable=False)

    class Meta:
        ordering = ("next_due_at", "id")

    def __str__(self) -> str:
        return f"{self.payer}: {self.plan}"


class Payment(models.Model):
    """One try to pay what was due at one moment. The key is what the gateway knows it by: each try has the same."""

    class Status(models.TextChoices):
        SUCCESS = "SUCCESS"
        FAILED = "FAILED"

    subscription = models.ForeignKey(Subscription, models.PROTECT, related_name="payments")
    due_at = models.DateTimeField()
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=7, choices=Status.choices)
    key = models.CharField(max_length=100)
    reference = models.CharField("at the gateway", max_length=100, blank=True)
    error = models.TextField(blank=True)
    run_id = models.UUIDField()
    attempt = models.IntegerField()
    made_at = models.DateTimeField()

    class Meta:
        ordering = ("-made_at", "-id")
        constraints = (
            models.UniqueConstraint(
                "subscription", "due_at", name="payment_is_made_once", condition=Q(status="SUCCESS")
            ),
            models.UniqueConstraint("run_id", "attempt", name="payment_of_an_attempt"),
        )

    def __str__(self) -> str:
        return f"{self.key} {self.status}"
