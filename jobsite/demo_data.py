"""What the demo starts with: someone to log in as, and jobs to watch."""

from __future__ import annotations

import secrets
from datetime import date

from django.contrib.auth import get_user_model

from jobsite import jobs

ADMIN_NAME = "demo"


def make_admin() -> str:
    """Give the demo's own superuser a new password and return it."""
    password = secrets.token_urlsafe(9)
    user, _ = get_user_model().objects.get_or_create(username=ADMIN_NAME)
    user.is_staff = user.is_superuser = user.is_active = True
    user.set_password(password)
    user.save()
    return password


def enqueue_jobs() -> None:
    jobs.greet.enqueue_many([{"name": name} for name in ("Ada", "Grace", "Katherine")])
    jobs.count_words.enqueue(pages=20)
    jobs.call_shaky_service.enqueue(order=4711)
    for customer in ("Ada", "Grace", "acme"):
        jobs.send_invoice.enqueue(customer=customer, month=date(2026, 10, 1), mail_password="not shown to anybody")
    jobs.fetch_prices.enqueue(symbols=["oak", "ash", "maple"])
    jobs.find_shops.enqueue(city="Bremen", wanted=30)
    jobs.greet.options(delay=30).enqueue(name="whoever is still here")
