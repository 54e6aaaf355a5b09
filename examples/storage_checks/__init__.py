"""Storage checks."""
