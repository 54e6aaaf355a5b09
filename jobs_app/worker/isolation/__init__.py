"""Handlers in processes of their own: warm ones, each under a guard that lets nothing outlive it."""
