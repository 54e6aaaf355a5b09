"""`python -m tests.examples.lead_scraper.clock FILE COMMAND ...`: manage.py by a clock that the test moves on.

It is the usual one until the test puts it somewhere; there it stands until it is put somewhere else.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import django
from django.core.management import execute_from_command_line

from tests.waiting import until

LOOK_SECONDS = 0.01


class Clock:
    """The test's end of it."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def put(self, moment: datetime) -> None:
        """From now on it is then, in the other process too."""
        text = moment.isoformat()
        draft = self.file.with_suffix(".draft")
        draft.write_text(text)
        draft.replace(self.file)
        until(lambda: _read(_answer(self.file)) == text, every=LOOK_SECONDS)


def follow(file: Path) -> None:
    """The other end."""
    from jobs_app.lifecycle.database import frozen_clock

    seen = ""
    with ExitStack() as moves:
        while True:
            if (text := _read(file)) != seen:
                moves.enter_context(frozen_clock(datetime.fromisoformat(text)))
                _answer(file).write_text(text)
                seen = text
            time.sleep(LOOK_SECONDS)


def _answer(file: Path) -> Path:
    return file.with_suffix(".taken")


def _read(file: Path) -> str:
    return file.read_text() if file.exists() else ""


if __name__ == "__main__":
    django.setup()
    threading.Thread(target=follow, args=[Path(sys.argv[1])], daemon=True).start()
    execute_from_command_line(["manage.py", *sys.argv[2:]])
