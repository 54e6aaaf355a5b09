"""What an example asks the demo to start beside web, worker and scheduler."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """`python -m module --port N` on this machine, and the environment variable that tells the others its address."""

    module: str
    address: str
    port: int  # where it is looked for unless the variable says otherwise; another one, if something else has it
    scheme: str = "http"
