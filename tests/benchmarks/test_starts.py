"""The file of starts, as the harness reads it while workers write it."""

from __future__ import annotations

import struct
from pathlib import Path

from benchmarks.starts import PORTION, Starts


def note(starts: Starts, number: int, nanoseconds: int) -> None:
    with starts.path.open("r+b") as file:
        file.seek(8 * number)
        file.write(struct.pack("<q", nanoseconds))


def test_nothing_has_begun_in_a_new_file(tmp_path: Path) -> None:
    starts = Starts(tmp_path / "starts", 3)
    assert not starts.have_all_begun()
    assert starts.first() is None
    assert starts.all() == [0, 0, 0]


def test_all_have_begun_whatever_their_order(tmp_path: Path) -> None:
    starts = Starts(tmp_path / "starts", 3)
    for number, nanoseconds in ((2, 50), (0, 70)):
        note(starts, number, nanoseconds)
        assert not starts.have_all_begun()
    note(starts, 1, 60)
    assert starts.have_all_begun()
    assert starts.all() == [70, 60, 50]
    assert starts.first() == 50


def test_more_jobs_than_one_look_takes(tmp_path: Path) -> None:
    jobs = 2 * PORTION + 5
    starts = Starts(tmp_path / "starts", jobs)
    for number in range(jobs - 1):
        note(starts, number, number + 1)
    assert not starts.have_all_begun()
    note(starts, jobs - 1, jobs)
    assert starts.have_all_begun()


def test_jobs_behind_the_measured_ones_count_for_the_first_start_only(tmp_path: Path) -> None:
    starts = Starts(tmp_path / "starts", 1)
    note(starts, 4, 10)
    assert starts.first() == 10
    assert not starts.have_all_begun()
    assert starts.all() == [0]


def test_a_new_run_begins_with_an_empty_file(tmp_path: Path) -> None:
    note(Starts(tmp_path / "starts", 1), 0, 5)
    assert not Starts(tmp_path / "starts", 1).have_all_begun()
