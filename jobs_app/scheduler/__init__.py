"""Schedules: when work comes due, and the loop that makes jobs of it."""
