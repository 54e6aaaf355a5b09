"""Which files begin first."""

from __future__ import annotations

from tests.long_first import RANKS


def test_the_files_that_begin_first_are_there() -> None:
    assert [path.name for path in RANKS if not path.is_file()] == []
