"""Where the handler's part of a traceback begins: nobody looks for a mistake of theirs in the worker that called it."""

from __future__ import annotations

from types import TracebackType

OURS = "jobs_app."


def of_handler(traceback: TracebackType | None) -> TracebackType | None:
    """Without the frames of the app that come first; all of them where it has no others."""
    found = traceback
    while found is not None and str(found.tb_frame.f_globals.get("__name__")).startswith(OURS):
        found = found.tb_next
    return found or traceback
