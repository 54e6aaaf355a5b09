"""System checks: what would not work, found before the first job is enqueued. docs/checks.md has each of them."""
