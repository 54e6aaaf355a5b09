"""System checks: what would not work, found before the first job is enqueued. docs/checks.md has each of them."""

from jobs_app.checks import addresses, commands, databases, server, settings

__all__ = ["addresses", "commands", "databases", "server", "settings"]
