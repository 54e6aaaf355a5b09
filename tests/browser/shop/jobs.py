"""Jobs that a test can hold, fail and release: a gate is open once its file is there."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Literal

from jobs_app import current_job, job

LOOK_SECONDS = 0.1


@job(name="send-report", queue="reports", subject="customer", max_attempts=1)
def send_report(customer: str, month: Literal["October", "November"], copies: int = 1) -> str:
    """Send the report of a month to a customer.

    Args:
        customer: Who gets it.
        month: Of which month.
        copies: How many.
    """
    for part in (1, 2):
        current_job().progress(part, 2, message=f"part {part} of 2 for {customer}")
        _pass(f"{customer}-part-{part}")
    current_job().log(f"sent {copies} of {month}")
    return f"{month} sent to {customer}"


@job(name="charge-card", max_attempts=1)
def charge_card(order: int, api_token: str = "") -> str:
    """Charge a card; fails until the bank answers."""
    current_job().log("calling the bank")
    if not _is_open("bank"):
        raise ConnectionError("the bank did not answer")
    return f"order {order} is paid"


@job(name="sync-stock", queue="stock", subject="branch")
def sync_stock(branch: str) -> str:
    """Compare the stock of a branch."""
    return f"{branch} is in order"


@job(name="crunch", queue="doomed", max_attempts=3)
def crunch() -> str:
    """Goes on until it is told, or its worker dies."""
    current_job().log("crunching")
    _pass("crunched")
    return "crunched"


@job(name="nightly-export", queue="reports", cron="30 2 * * *", timezone="Europe/Berlin")
def nightly_export() -> str:
    """Comes back every night, on the nights when clocks change, too."""
    return "exported"


@job(name="poll-prices", every=3600)
def poll_prices() -> str:
    """Comes back every hour."""
    return "polled"


def _is_open(gate: str) -> bool:
    return (Path(os.environ["SHOP_GATES"]) / gate).exists()


def _pass(gate: str) -> None:
    while not _is_open(gate):
        current_job().raise_if_cancelled()
        time.sleep(LOOK_SECONDS)
