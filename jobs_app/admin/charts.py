"""Charts drawn by the server: SVG with a text alternative, coloured by the style sheet, without a script."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

WIDTH, HEIGHT = 120, 28  # of a sparkline, in its own units: the style sheet says how large it is shown
BAR_HEIGHT, BAR_GAP = 120, 0.2
METER_WIDTH, METER_HEIGHT = 100, 10


def sparkline(values: Sequence[float], *, label: str) -> SafeString:
    """One line, from the left to the right; its scale begins at nothing."""
    if not values:
        return format_html('<span class="jobs-muted">{}</span>', "-")
    top = max(*values, 1.0) if len(values) > 1 else max(values[0], 1.0)
    step = WIDTH / max(len(values) - 1, 1)
    points = [(index * step, HEIGHT - 2 - value / top * (HEIGHT - 4)) for index, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return format_html(
        '<svg class="jobs-sparkline" viewBox="0 0 {} {}" role="img" aria-label="{}" preserveAspectRatio="none">'
        '<polygon points="0,{} {} {},{}"></polygon><polyline points="{}"></polyline></svg>',
        WIDTH,
        HEIGHT,
        label,
        HEIGHT,
        line,
        f"{points[-1][0]:.1f}",
        HEIGHT,
        line,
    )


def bars(pairs: Sequence[tuple[object, float]], *, label: str, kind: str = "info") -> SafeString:
    """One bar for each (name, number), each telling both to who points at it."""
    return stacked([(name, [(kind, number)]) for name, number in pairs], label=label)


def stacked(columns: Sequence[tuple[object, Sequence[tuple[str, float]]]], *, label: str) -> SafeString:
    """One bar for each (name, [(kind, number), ...]), its parts on top of each other in the colours of their kinds."""
    if not columns:
        return format_html('<p class="jobs-muted">{}</p>', "-")
    top = max([sum(number for _, number in parts) for _, parts in columns]) or 1.0
    drawn = format_html_join(
        "", "{}", ((_column(index, name, parts, top),) for index, (name, parts) in enumerate(columns))
    )
    return format_html(
        '<svg class="jobs-bars" viewBox="0 0 {} {}" role="img" aria-label="{}" preserveAspectRatio="none">{}</svg>',
        len(columns),
        BAR_HEIGHT,
        label,
        drawn,
    )


def meter(used: float, total: float, *, label: str) -> SafeString:
    """How much of what there is."""
    share = min(1.0, used / total) if total else 0.0
    kind = "bad" if total and used > total else "warn" if share > 0.85 else "ok"
    return format_html(
        '<svg class="jobs-meter" viewBox="0 0 {} {}" role="img" aria-label="{}" preserveAspectRatio="none">'
        '<rect class="jobs-meter-rest" width="{}" height="{}"></rect>'
        '<rect class="jobs-fill-{}" width="{}" height="{}"></rect></svg>',
        METER_WIDTH,
        METER_HEIGHT,
        label,
        METER_WIDTH,
        METER_HEIGHT,
        kind,
        f"{share * METER_WIDTH:.1f}",
        METER_HEIGHT,
    )


def _column(index: int, name: object, parts: Sequence[tuple[str, float]], top: float) -> SafeString:
    told = f"{name}: " + ", ".join(f"{number:g}" for _, number in parts)
    below, rects = 0.0, []
    for kind, number in parts:
        height = number / top * (BAR_HEIGHT - 2)
        below += height
        rects.append(
            (kind, f"{index + BAR_GAP / 2:.2f}", f"{BAR_HEIGHT - below:.2f}", f"{1 - BAR_GAP:.2f}", f"{height:.2f}")
        )
    shapes = format_html_join(
        "", '<rect class="jobs-fill-{}" x="{}" y="{}" width="{}" height="{}"></rect>', (rect for rect in rects)
    )
    return format_html("<g><title>{}</title>{}</g>", told, shapes)
