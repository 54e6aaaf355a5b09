"""Bars as SVG, written by hand: one file that any page shows, readable on a light and on a dark one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 860
LABEL_WIDTH = 330
VALUE_WIDTH = 90
ROW_HEIGHT = 24
BAR_HEIGHT = 14
TITLE_HEIGHT = 36
# The middle greys and blues stand out from white as well as from black, for viewers that know no colour scheme.
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #57606a; }
.title { font-weight: 600; font-size: 15px; }
.ours { font-weight: 600; }
.bar { fill: #8c959f; }
.bar.ours { fill: #3b82f6; }
@media (prefers-color-scheme: dark) { text { fill: #b1bac4; } .bar { fill: #6e7681; } }
"""


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    told: str
    is_ours: bool = True


def bars(title: str, rows: Sequence[Bar]) -> str:
    """All bars from one zero, the longest as long as there is room."""
    height = TITLE_HEIGHT + ROW_HEIGHT * len(rows) + 8
    longest = max((bar.value for bar in rows), default=0)
    drawn = [_row(bar, TITLE_HEIGHT + ROW_HEIGHT * number, longest) for number, bar in enumerate(rows)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            f'<text class="title" x="8" y="22">{escape(title)}</text>',
            *drawn,
            "</svg>\n",
        ]
    )


def _row(bar: Bar, top: int, longest: float) -> str:
    room = WIDTH - LABEL_WIDTH - VALUE_WIDTH
    length = room * max(bar.value, 0) / longest if longest > 0 else 0
    ours = " ours" if bar.is_ours else ""
    middle = top + BAR_HEIGHT - 2
    return (
        f'<text class="label{ours}" x="{LABEL_WIDTH - 8}" y="{middle}" text-anchor="end">{escape(bar.label)}</text>'
        f'<rect class="bar{ours}" x="{LABEL_WIDTH}" y="{top}" width="{length:.1f}" height="{BAR_HEIGHT}" rx="2"/>'
        f'<text class="value{ours}" x="{LABEL_WIDTH + length + 6:.1f}" y="{middle}">{escape(bar.told)}</text>'
    )
