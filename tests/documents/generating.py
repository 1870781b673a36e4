"""Generates documents in the many ways in which people write them."""

from __future__ import annotations

from hypothesis import strategies as st

from knobctl.knobs import KnobType, load_catalogue

CATALOGUE = load_catalogue()
NUMBERS = {knob.name: knob for knob in CATALOGUE if knob.type is not KnobType.MODE}
COMMENT = st.sampled_from(["", "", "", " # agreed", "   # see: the #1 review", " #"])
ABOVE = st.sampled_from(["", "", "", "# why\n", "\n", "\n# a\n# b\n", "# 'quoted: x\n\n"])


@st.composite
def literals(draw: st.DrawFn, name: str) -> str:
    """A spelling of a value that the knob takes."""
    knob = CATALOGUE[name]
    if knob.type is KnobType.MODE:
        return draw(
            st.sampled_from([f'"{knob.choices[1]}"', knob.choices[-1], f"'{knob.choices[1]}'"])
        )
    assert knob.minimum is not None
    assert knob.maximum is not None
    if knob.type is KnobType.INT32:
        number = draw(st.integers(max(1, int(knob.minimum)), int(knob.maximum)))
        return draw(
            st.sampled_from(
                [
                    str(number),
                    f"{number}.0",
                    f"+{number}",
                    hex(number),
                    f"0o{number:o}",
                    f"{number}e0",
                ]
            )
        )
    value = draw(st.integers(1, 99))
    low, high = float(knob.minimum), float(knob.maximum)
    text = f"{low + (high - low) * value / 100:.4f}"
    return draw(
        st.sampled_from([text, f"{text}00", text.removeprefix("0"), f"+{text}", f"{text}e0"])
    )


@st.composite
def knob_blocks(draw: st.DrawFn, indent: str) -> list[str]:
    """Lines of a block mapping of knobs, each with what stands above it."""
    names = draw(
        st.lists(
            st.sampled_from([knob.name for knob in CATALOGUE]), unique=True, min_size=1, max_size=5
        )
    )
    lines = []
    for name in names:
        above = draw(ABOVE)
        key = draw(st.sampled_from([name, CATALOGUE[name].json_name, f"'{name}'", f'"{name}"']))
        colon = draw(st.sampled_from([": ", ":   ", ":\t"]))
        lines += [f"{indent}{line}\n" if line else "\n" for line in above.split("\n")[:-1]]
        lines.append(f"{indent}{key}{colon}{draw(literals(name))}{draw(COMMENT)}\n")
    return lines


@st.composite
def knob_flow(draw: st.DrawFn) -> str:
    """A flow mapping of knobs."""
    names = draw(
        st.lists(st.sampled_from([knob.name for knob in CATALOGUE]), unique=True, max_size=4)
    )
    gap = draw(st.sampled_from([" ", "", "\n    ", "  # x\n    "]))
    pairs = [f"{name}: {draw(literals(name))}" for name in names]
    return "{" + f",{gap or ' '}".join(pairs) + draw(st.sampled_from(["", " ", "\n  "])) + "}"


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A tenant or layer."""
    kind = draw(st.sampled_from(["tenant", "layer"]))
    parts = [f"{kind}: {draw(st.sampled_from(['acme', 'no', 'b.c']))}{draw(COMMENT)}\n"]
    if draw(st.booleans()):
        parts.append("version: 1\n")
    if draw(st.booleans()):
        parts.append(
            draw(
                st.sampled_from(["owner: 'x'\n", "owner: >-\n  folded\n  text\n", 'owner: "on"\n'])
            )
        )
    if kind == "tenant" and draw(st.booleans()):
        parts.append(
            draw(
                st.sampled_from(["labels: {a: b, c: no}\n", "labels:\n  a: 1:30\n  # b\n  b: c\n"])
            )
        )
    indent = draw(st.sampled_from(["  ", "    ", " "]))
    knobs = draw(
        st.one_of(
            knob_blocks(indent).map(lambda lines: f"knobs:{draw(COMMENT)}\n" + "".join(lines)),
            knob_flow().map(lambda flow: f"knobs: {flow}\n"),
            st.just(""),
        )
    )
    parts.append(knobs)
    above = [draw(ABOVE) for _ in parts]
    order = draw(st.permutations(range(len(parts))))
    return "".join(above[number] + parts[number] for number in order)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file of one or more documents, with any line end, with or without a byte-order mark and a last line end."""
    text = draw(st.sampled_from(["", "---\n", "# head\n---\n"]))
    text += draw(st.sampled_from(["---\n", "...\n---\n", "---  # next\n"])).join(
        draw(st.lists(documents(), min_size=1, max_size=3))
    )
    text += draw(st.sampled_from(["", "...\n", "# end\n", "\n\n"]))
    if draw(st.booleans()):
        text = text.rstrip("\n")
    text = text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"])))
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()
