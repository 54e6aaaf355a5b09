"""Cron expressions: which moments they mean, in every zone and across every change of its clocks."""

from jobs_app.cron.slots import Cron, parse

__all__ = ["Cron", "parse"]
