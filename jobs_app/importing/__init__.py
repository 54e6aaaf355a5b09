"""Periodic tasks of other packages become schedules: rows of their tables in, plans out, and plans stored."""
