"""Only `ui.py` makes text: nothing else in the room calls what reads markup."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOM: Final = Path(__file__).parents[2] / "knobctl" / "tui"
FILES: Final = sorted(path for path in ROOM.rglob("*.py") if path != ROOM / "ui.py")
WIDGETS: Final = frozenset(
    [
        "Static",
        "Label",
        "Button",
        "OptionList",
        "Option",
        "Select",
        "SelectionList",
        "Checkbox",
        "RadioButton",
        "RadioSet",
        "Collapsible",
        "DataTable",
        "Tree",
        "DirectoryTree",
        "Markdown",
        "MarkdownViewer",
        "Log",
        "RichLog",
        "Pretty",
        "Digits",
        "Link",
        "Tab",
        "Tabs",
        "TabPane",
        "TabbedContent",
        "Input",
        "MaskedInput",
        "TextArea",
        "Switch",
        "Placeholder",
        "Rule",
        "Toast",
        "Tooltip",
    ]
)
"""Widgets that take a text of which they may read markup, or that hold what was pasted."""
CALLS: Final = frozenset({"notify", "from_markup", "from_text", "from_ansi", "bell", "print"})
ATTRIBUTES: Final = frozenset({"border_title", "border_subtitle", "tooltip", "loading_message"})
FILLS: Final = frozenset(
    {"add_row", "add_column", "add_columns", "update_cell", "update_cell_at", "update"}
)
"""What fills a widget that reads markup in every plain string."""


def sinks(code: str) -> Iterator[str]:
    """The places of a module where outside text could be read as markup."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                if name in CALLS | WIDGETS or (name in FILLS and any(map(is_text, node.args))):
                    yield f"line {node.lineno}: {name} is called"
            case ast.ClassDef(bases=bases):
                yield from (
                    f"line {node.lineno}: {ast.unparse(base)}"
                    for base in bases
                    if ast.unparse(base) in WIDGETS
                )
            case ast.Attribute(attr=name, ctx=ast.Store()) if name in ATTRIBUTES:
                yield f"line {node.lineno}: {name} is set"
            case ast.keyword(arg="markup"):
                yield f"line {node.value.lineno}: markup is asked for"
            case _:
                pass


def is_text(node: ast.expr) -> bool:
    """Whether an argument is a string as it is written."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOM)))
def test_no_sink_of_markup_is_used(path: Path) -> None:
    """Texts come from `ui.line`, messages from `ui.tell`."""
    assert list(sinks(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "code",
    [
        "yield Static(text)",
        "yield widgets.Label(text)",
        "class Line(Input): pass",
        "self.mount(Option(text))",
        "self.notify(text)",
        "self.app.notify('x')",
        "Content.from_markup('[b]x')",
        "self.border_title = name",
        "table.add_row(f'{name}')",
        "table.add_column('tenant')",
        "self.query_one(Words).update(f'{tenant}')",
        "Words(text, markup=True)",
    ],
)
def test_a_sink_is_found(code: str) -> None:
    """The test above would see it."""
    assert list(sinks(code))


@pytest.mark.parametrize(
    "code",
    [
        "table.add_row(line(name), key=name)",
        "words.update(line(name))",
        "known.update(others)",
    ],
)
def test_what_is_safe_is_no_sink(code: str) -> None:
    """Nor would it see what is none."""
    assert list(sinks(code)) == []
