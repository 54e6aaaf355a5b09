"""What was found: each lead once, whoever finds it again."""

from __future__ import annotations

from django.db import models


class Lead(models.Model):
    phone = models.CharField(max_length=40, unique=True)
    name = models.CharField(max_length=200)
    trade = models.CharField(max_length=100)
    city = models.CharField(max_length=100)
    run_id = models.UUIDField("found by", db_index=True, editable=False)
    found_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-found_at", "-id")

    def __str__(self) -> str:
        return self.name
