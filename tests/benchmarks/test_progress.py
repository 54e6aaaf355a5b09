"""The lines that say how far a run is."""

from __future__ import annotations

import io
import re

from benchmarks.progress import Progress


def test_a_line_says_what_runs_and_which_of_how_many_it_is() -> None:
    out = io.StringIO()
    progress = Progress(12, out)
    progress.begin("drain, 1 process")
    assert out.getvalue() == "[ 1/12] drain, 1 process ... "
    progress.end("12,345 jobs/s")
    assert re.fullmatch(r"\[ 1/12\] drain, 1 process \.\.\. 12,345 jobs/s \(\d+ s\)\n", out.getvalue())


def test_the_last_line_says_how_much_was_done() -> None:
    out = io.StringIO()
    progress = Progress(2, out)
    progress.begin("latency")
    progress.end("1 ms")
    progress.close()
    assert out.getvalue().splitlines()[-1].startswith("1 of 2 measured in ")
