"""A small app for a person to operate."""
