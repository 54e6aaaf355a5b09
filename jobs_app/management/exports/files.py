"""Files that were made, and how they get into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from django.core.management.base import CommandError


class File(NamedTuple):
    name: str
    content: str


def write(files: Sequence[File], folder: Path, *, force: bool) -> list[Path]:
    """All or, where one is there already and `force` is not said, none."""
    paths = [folder / file.name for file in files]
    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        raise CommandError(f"{', '.join(there)} would be overwritten: give another --output, or --force.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, file in zip(paths, files, strict=True):
            path.write_text(file.content, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"the files cannot be written: {error}") from None
    return paths
