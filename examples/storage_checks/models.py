"""Who is checked, who is not, and how the checks went."""

from __future__ import annotations

from django.db import models
from django.db.models import Exists, OuterRef, Q

from examples.storage_checks.knobs import KNOBS


class Providers(models.QuerySet["Provider"]):
    def tested(self) -> Providers:
        """Whose storage is checked: active, approved where that is asked for, and not blocked."""
        names = Q(of=OuterRef("pk")) | Q(of=OuterRef("address")) | Q(of=OuterRef("number"))
        found = self.filter(~Exists(Block.objects.filter(names)), active=True)
        return found.filter(approved=True) if KNOBS.use_only_approved_providers else found


class Provider(models.Model):
    """As the registry of its network has it. Its key is the subject of its jobs: an address may be on two networks."""

    name = models.CharField("network:address", max_length=120, primary_key=True)
    network = models.CharField(max_length=20)
    number = models.CharField("id in the registry", max_length=20)
    address = models.CharField(max_length=90)
    active = models.BooleanField()
    approved = models.BooleanField()

    objects = Providers.as_manager()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Block(models.Model):
    """Somebody whom we do not check, whatever the registry says."""

    of = models.CharField("whom", max_length=120, unique=True, help_text="An id, an address, or network:address.")
    reason = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.of


class Measurement(models.Model):
    """How the checks of one kind went that ended in one period."""

    provider = models.ForeignKey(Provider, models.CASCADE)
    kind = models.CharField(max_length=20)
    until = models.DateTimeField(db_index=True)
    success = models.PositiveIntegerField(default=0)
    error = models.PositiveIntegerField(default=0)
    aborted = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("-until", "provider", "kind")
        constraints = (models.UniqueConstraint("provider", "kind", "until", name="measurement_is_made_once"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.provider_id} {self.until:%Y-%m-%d %H:%M}"
