"""Welcome mail."""
