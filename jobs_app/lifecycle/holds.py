"""What a job waits for that goes, or goes back, before its gate."""

from __future__ import annotations


def hold_by_gate(gate: str) -> str:
    """SQL for the `hold` of a job with this gate: open where there is none, else to be looked at by admission."""
    return f"CASE {gate} WHEN 0 THEN '' WHEN 1 THEN 'limit' ELSE 'new' END"
