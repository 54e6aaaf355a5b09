"""What handlers did, in a file that outlives every kill. Used where there is no Django."""

from __future__ import annotations

import json
import os
from typing import Any


def note(what: str, **facts: Any) -> None:
    """One line, on disk before the handler goes on."""
    handle = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(handle, json.dumps({"what": what, "pid": os.getpid(), **facts}).encode() + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)
