"""What `manage.py jobs export` makes: one module per kind of file, and what they share."""
