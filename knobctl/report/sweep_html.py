"""What floors would have refused, as one page that needs no network: curve, histogram by label, tables."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import EngineError
from knobctl.report.sweep import (
    difference_text,
    floor_text,
    heading_lines,
    interval,
    judged_columns,
    percent,
)
from knobctl.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knobctl.evidence.sweeping import Compared, Swept

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #1b1f24; background: #fff }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: .25rem .7rem; border-bottom: 1px solid #d8dee4 }
th { font-weight: 600 } td:first-child, th:first-child { text-align: left }
tr.now td { font-weight: 600; background: #fff8e1 } ul { padding-left: 1.2rem } h2 { margin-top: 2rem }
"""
_COLORS: Final = {"answerable": "#1a7f37", "unanswerable": "#bc4c00", "not labelled": "#57606a"}


def sweep_html(swept: Swept, *, compare: Sequence[Compared] = ()) -> str:
    """Render the page.

    Raises:
        EngineError: If the library that draws is not installed.
    """
    try:
        import plotly.graph_objects as go
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise EngineError(
            "the page needs plotly, which is not installed", hint="pip install 'knobctl[engine]'"
        ) from error
    title = f"Relevance floor: {printable(swept.heading.tenant)}"
    body = [
        f"<h1>{escape(title)}</h1>",
        _list(heading_lines(swept)),
        "<h2>Refused share by floor</h2>",
        _figure(_curve(go, swept), "curve"),
        "<h2>Scores by label</h2>",
        _figure(_histogram(go, swept), "scores"),
        "<h2>Refusal curve</h2>",
        _curve_table(swept),
        *(["<h2>Judged sweep</h2>", _judged_table(swept)] if swept.judged else []),
        *(["<h2>Compared</h2>", _compared_table(compare)] if compare else []),
        "<h2>Read before comparing</h2>",
        _list(swept.caveats),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<script>{get_plotlyjs()}</script></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _figure(figure: Any, name: str) -> str:  # noqa: ANN401  the library has no types
    found: str = figure.to_html(
        full_html=False, include_plotlyjs=False, div_id=name, config={"displaylogo": False}
    )
    return found


def _layout(go: Any, x: str, y: str) -> Any:  # noqa: ANN401  the library has no types
    return go.Layout(
        template="plotly_white",
        margin={"l": 60, "r": 20, "t": 30, "b": 50},
        height=380,
        xaxis={"title": {"text": x}, "range": [0, 1]},
        yaxis={"title": {"text": y}, "rangemode": "tozero"},
        legend={"orientation": "h", "y": 1.12},
    )


def _curve(go: Any, swept: Swept) -> Any:  # noqa: ANN401  the library has no types
    """The exact curve as steps, and the interval of the asked floors around it."""
    scores = sorted(row.max_similarity for row in swept.rows if row.max_similarity is not None)
    size = len(scores)
    steps = [(0.0, 0.0)]
    for at, score in enumerate(scores, start=1):
        steps.append((math.nextafter(score, 2.0), at / size))
    steps.append((1.0, 1.0))
    figure = go.Figure(layout=_layout(go, "floor", "refused share"))
    figure.add_scatter(
        x=[x for x, _ in steps],
        y=[y for _, y in steps],
        line_shape="hv",
        name="refused",
        line_color="#0969da",
    )
    floors = [one.floor for one in swept.curve]
    values = [one.refused.value or 0.0 for one in swept.curve]
    figure.add_scatter(
        x=floors,
        y=values,
        mode="markers",
        name="asked floors, 95% interval",
        marker_color="#0969da",
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [
                (one.refused.high or 0.0) - y for one, y in zip(swept.curve, values, strict=True)
            ],
            "arrayminus": [
                y - (one.refused.low or 0.0) for one, y in zip(swept.curve, values, strict=True)
            ],
        },
    )
    _mark(figure, swept)
    return figure


def _histogram(go: Any, swept: Swept) -> Any:  # noqa: ANN401  the library has no types
    figure = go.Figure(layout=_layout(go, "score", "questions"))
    for name, label in (("answerable", True), ("unanswerable", False), ("not labelled", None)):
        scores = [
            row.max_similarity
            for row in swept.rows
            if row.answerable is label and row.max_similarity is not None
        ]
        if scores:
            figure.add_histogram(
                x=scores,
                name=name,
                marker_color=_COLORS[name],
                opacity=0.65,
                xbins={"start": 0, "end": 1, "size": 0.025},
            )
    figure.update_layout(barmode="overlay")
    _mark(figure, swept)
    return figure


def _mark(figure: Any, swept: Swept) -> None:  # noqa: ANN401  the library has no types
    if swept.configured is not None:
        figure.add_vline(
            x=swept.configured, line_dash="dash", annotation_text=f"in force {swept.configured:g}"
        )


def _list(lines: Iterator[str] | Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(printable(line))}</li>" for line in lines) + "</ul>"


def _table(heads: Sequence[str], rows: Iterator[tuple[bool, list[str]]]) -> str:
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    lines = (
        f"<tr{' class=now' if now else ''}>"
        + "".join(f"<td>{escape(one)}</td>" for one in cells)
        + "</tr>"
        for now, cells in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _curve_table(swept: Swept) -> str:
    rows = (
        (
            swept.marks(one.floor),
            [floor_text(one.floor), percent(one.refused), interval(one.refused)],
        )
        for one in swept.curve
    )
    return _table(["floor", "refused", "95% interval"], rows)


def _judged_table(swept: Swept) -> str:
    columns = judged_columns(swept)
    rows = (
        (
            swept.marks(one.floor),
            [
                floor_text(one.floor),
                *(percent(getattr(one, name), none) for name, _, none in columns),
            ],
        )
        for one in swept.judged
    )
    heads = ["floor", *(title.replace("->", "\u2192") for _, title, _ in columns)]
    return _table(heads, rows)


def _compared_table(compare: Sequence[Compared]) -> str:
    rows = (
        (
            False,
            [
                floor_text(one.floor),
                *map(percent, one.refused),
                difference_text(one),
            ],
        )
        for one in compare
    )
    return _table(["floor", "refused here", "refused there", "difference"], rows)
