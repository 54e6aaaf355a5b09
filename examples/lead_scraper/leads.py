"""What remote workers report becomes leads, in the transaction of the report: with cursor and counts, or not at all."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from examples.lead_scraper.models import Lead


def store_leads(run_id: UUID, items: dict[str, Any]) -> int:
    """How many of these, by phone, were new. Another search may report the same ones at this moment, so what counts is
    whose the stored ones are; and in one order, so that neither waits for the other in turn."""
    known = set(Lead.objects.filter(phone__in=items).values_list("phone", flat=True))
    new = sorted(items.keys() - known)
    Lead.objects.bulk_create([_lead(run_id, phone, items[phone]) for phone in new], ignore_conflicts=True)
    return Lead.objects.filter(phone__in=new, run_id=run_id).count()


def _lead(run_id: UUID, phone: str, entry: dict[str, str]) -> Lead:
    return Lead(phone=phone, name=entry["name"], trade=entry["trade"], city=entry["city"], run_id=run_id)
