"""Zones and days on which their clocks are put forward or back, or nothing happens."""

from __future__ import annotations

from datetime import date

ODD_DAYS = [
    ("UTC", date(2026, 1, 1)),
    ("Asia/Kolkata", date(2026, 6, 1)),
    ("Europe/Berlin", date(2026, 3, 29)),
    ("Europe/Berlin", date(2026, 10, 25)),
    ("America/New_York", date(2026, 3, 8)),
    ("America/New_York", date(2026, 11, 1)),
    ("Australia/Lord_Howe", date(2026, 4, 5)),  # by half an hour
    ("Australia/Lord_Howe", date(2026, 10, 4)),
    ("Africa/Cairo", date(2026, 4, 24)),  # at midnight
    ("Africa/Cairo", date(2026, 10, 30)),
    ("Pacific/Apia", date(2011, 12, 30)),  # a day that never was
]
