"""What the demo starts with."""

from __future__ import annotations

from datetime import date

from examples.first_steps import jobs


def fill() -> None:
    jobs.greet.enqueue_many([{"name": name} for name in ("Ada", "Grace", "Katherine")])
    jobs.count_words.enqueue(pages=20)
    jobs.call_shaky_service.enqueue(order=4711)
    for customer in ("Ada", "Grace", "acme"):
        jobs.send_invoice.enqueue(customer=customer, month=date(2026, 10, 1), mail_password="not shown to anybody")
    jobs.fetch_prices.enqueue(symbols=["oak", "ash", "maple"])
    jobs.greet.options(delay=30).enqueue(name="whoever is still here")
