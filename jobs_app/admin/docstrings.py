"""What a docstring says about each argument, in the two ways that people write it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

PARAM = re.compile(r":param\s+(?:[^:\s]+\s+)?(\w+)\s*:\s*(.+?)(?=\n\s*:|\n\s*\n|\Z)", re.DOTALL)
ARGS = re.compile(r"^(?:Args|Arguments|Parameters)\s*:?\s*\n(?:-+\n)?((?:[ \t]+.*(?:\n|\Z)|\n)+)", re.MULTILINE)
ENTRY = re.compile(r"^[ \t]+(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")


def about_arguments(function: Callable[..., Any]) -> dict[str, str]:
    """By name: from `:param name: text`, or from lines `name: text` under `Args:`."""
    text = inspect.cleandoc(function.__doc__ or "")
    told = {name: _one_line(said) for name, said in PARAM.findall(text)}
    for block in ARGS.findall(text):
        told |= _entries(block)
    return told


def _entries(block: str) -> dict[str, str]:
    """A line that is indented further goes on with the entry above it."""
    told: dict[str, str] = {}
    indent, name = None, ""
    for line in block.splitlines():
        depth = len(line) - len(line.lstrip())
        found = ENTRY.match(line)
        if found and (indent is None or depth <= indent):
            indent, name = depth, found[1]
            told[name] = found[2].strip()
        elif name and line.strip():
            told[name] += " " + line.strip()
    return told


def _one_line(text: str) -> str:
    return " ".join(text.split())
