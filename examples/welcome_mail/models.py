"""Who joined, and who was welcomed."""

from __future__ import annotations

from django.db import models


class Member(models.Model):
    name = models.CharField(max_length=100)
    email = models.EmailField(unique=True)
    joined_at = models.DateTimeField(auto_now_add=True)
    welcomed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-joined_at", "-id")

    def __str__(self) -> str:
        return self.name
