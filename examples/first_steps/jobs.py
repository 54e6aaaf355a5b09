"""Small jobs to look at: quick, slow, failing at first, asynchronous, and coming back in two ways."""

from __future__ import annotations

import asyncio
import time
from datetime import date
from typing import Annotated, Literal

from jobs_app import Backoff, current_job, job


@job
def greet(name: str) -> str:
    """Ends at once and keeps its result."""
    return f"Hello, {name}!"


@job(name="count-words", queue="reports")
def count_words(pages: int = 20) -> int:
    """Works for some seconds, reports how far it is, and stops when it is asked to."""
    for page in range(1, pages + 1):
        current_job().raise_if_cancelled()
        time.sleep(0.5)
        current_job().progress(page, pages, message=f"read page {page}")
    current_job().log(f"counted {pages} pages")
    return pages * 250


@job(name="call-shaky-service", max_attempts=4, backoff=Backoff(base=3, cap=30))
def call_shaky_service(order: int) -> str:
    """Fails at first and succeeds on its second attempt."""
    if current_job().attempt == 1:
        raise ConnectionError("the service did not answer")
    return f"order {order} is booked"


@job(name="send-invoice", queue="mail", subject="customer", max_attempts=2, backoff=Backoff(base=5))
def send_invoice(
    customer: Annotated[str, "Ada, Grace, or acme, whose address is missing."],
    month: date,
    currency: Literal["EUR", "USD", "JPY"] = "EUR",
    attach_pdf: bool = True,
    mail_password: str = "",
) -> str:
    """Has a payload of many types to fill in, and fails for one customer until somebody corrects it."""
    current_job().log(f"writing the invoice of {month:%B %Y} in {currency}")
    if customer == "acme":
        raise ValueError("customer acme has no address")
    return f"sent to {customer}{' with a PDF' if attach_pdf else ''}"


@job(name="fetch-prices")
async def fetch_prices(symbols: list[str]) -> dict[str, int]:
    """Waits for several things at once on the worker's event loop."""
    prices = await asyncio.gather(*(_price_of(symbol) for symbol in symbols))
    return dict(zip(symbols, prices, strict=True))


@job(name="heartbeat", every=15)
def heartbeat() -> str:
    """Comes back every 15 seconds: its schedule is declared with it."""
    return "still here"


@job(name="morning-report", queue="reports", cron="0 9 * * mon-fri", timezone="Europe/Berlin")
def morning_report() -> str:
    """Comes back by the clock of a city, on days when clocks change too."""
    return "nothing to report"


async def _price_of(symbol: str) -> int:
    await asyncio.sleep(0.2)
    return len(symbol) * 100
