"""Writes new documents in the canonical form."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any, Final

from knobctl.documents.order import key_rank, knob_rank
from knobctl.documents.reader import read_text
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.documents.model import Kind
    from knobctl.knobs import Catalogue

_WIDTH: Final = 80
"""What a list may take of a line; one that is longer has an item a line."""
_PLAIN: Final = re.compile(r"[^\W\d][\w./@-]*(?: [\w./@-]+)*\Z").match
"""Words that need no quotes anywhere, not even between braces."""


def new_document(
    kind: Kind,
    name: str,
    fields: Mapping[str, object],
    *,
    catalogue: Catalogue,
    schema: str | None = None,
    comment: str | None = None,
) -> str:
    """Write a document: keys and knobs in order, numbers as every reader reads them, text quoted where needed.

    Args:
        kind: What it is.
        name: The value of its kind key.
        fields: Its other keys, as plain values.
        catalogue: The knobs, for their order.
        schema: Where an editor finds the JSON Schema, relative to the file; None for no such line.
        comment: Lines to put on top.

    Raises:
        ValueError: If the fields hold what no document can hold, or the text does not read back to them.
    """
    ordered: dict[str, object] = {kind.value: name}
    ordered |= {key: fields[key] for key in sorted(fields, key=key_rank(kind))}
    if isinstance(knobs := ordered.get("knobs"), dict):
        ordered["knobs"] = {knob: knobs[knob] for knob in sorted(knobs, key=knob_rank(catalogue))}
    text = _dumped(ordered)
    head = [f"# yaml-language-server: $schema={schema}"] if schema else []
    head += [f"# {line}".rstrip() for line in comment.splitlines()] if comment else []
    read = read_text(text, name)
    if read.troubles or len(read.trees) != 1 or read.trees[0].value != ordered:
        raise ValueError(
            f"{kind.value} {name!r} cannot be written as YAML that reads back the same"
        )
    return "".join(f"{line}\n" for line in head) + text


def _dumped(value: Mapping[str, object]) -> str:
    # ruamel is slow to import and only new documents need it.
    from ruamel.yaml import YAML
    from ruamel.yaml.representer import RoundTripRepresenter

    class Representer(RoundTripRepresenter):
        """Spells floats without exponents, which YAML 1.1 readers take for text."""

    Representer.add_representer(float, _spelled_float)
    yaml = YAML()
    yaml.Representer = Representer
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump(_styled(value, top=True), out)
    return out.getvalue()


def _spelled_float(representer: Any, value: float) -> Any:  # noqa: ANN401  ruamel's own types are not told
    text = spelled(value)
    # Whole numbers have no dot; told that they are floats, ruamel would write a tag before them.
    kind = "int" if text.removeprefix("-").isdigit() else "float"
    return representer.represent_scalar(f"tag:yaml.org,2002:{kind}", text)


def _styled(value: object, *, top: bool = False) -> object:
    """Dress plain values: short lists and labels in one line, ambiguous text in quotes."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    if isinstance(value, dict):
        mapping = CommentedMap()
        for key, item in value.items():
            mapping[_quoted(key)] = _styled(item)
        flat = all(not isinstance(item, (dict, list)) for item in value.values())
        if not value or (flat and not top and _is_labels(value)):
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, list):
        sequence = CommentedSeq([_styled(item) for item in value])
        flat = all(not isinstance(item, (dict, list)) for item in value)
        if flat and sum(len(str(item)) + 2 for item in value) <= _WIDTH:
            sequence.fa.set_flow_style()
        return sequence
    return _quoted(value) if isinstance(value, str) else value


def _is_labels(value: Mapping[str, object]) -> bool:
    return (
        all(isinstance(item, str) and len(item) < 24 for item in value.values()) and len(value) < 5
    )


def _quoted(text: str) -> str:
    """Quote text that a reader of either YAML version takes for something else."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString

    if not text.isprintable():
        return str.__new__(DoubleQuotedScalarString, text)
    if _PLAIN(text):
        (tree,) = read_text(text, "").trees
        if tree.value == text and not tree.troubles:
            return text
    return str.__new__(SingleQuotedScalarString, text)
