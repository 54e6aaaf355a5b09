"""Recurring payments: what is due becomes a job, a gateway is charged once, and who cannot pay expires."""
