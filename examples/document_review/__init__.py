"""Document review."""
