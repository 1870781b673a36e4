"""The generated code of the wire is current, and the printed `.proto` stands on its own."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from knobctl.knobs import KnobType, load_catalogue
from knobctl.server.wire.knobs_pb import ContextEngineKnobsConfig, KnobMode
from knobctl.server.wire.whole import whole_proto
from tests.server.generating import ROOT, WIRE, generated

if TYPE_CHECKING:
    from pathlib import Path


def test_generating_again_changes_nothing() -> None:
    """What is committed is what the schema and the .proto files give; run tests/server/generating.py."""
    made = generated()
    assert {name: (ROOT / WIRE / name).read_text(encoding="utf-8") for name in made} == made
    found = {path.name for path in (ROOT / WIRE).glob("*_pb.py")}
    found |= {path.name for path in (ROOT / WIRE).glob("*_connect.py")}
    assert found == made.keys() - {"knobs.proto"}


def test_every_knob_is_a_field_of_the_message() -> None:
    """Name, wire name, number and type are those of the catalogue, in its order."""
    fields = [
        (field.name, field.json_name, field.number)
        for field in ContextEngineKnobsConfig.desc().fields
    ]
    assert fields == [(knob.name, knob.json_name, knob.field_number) for knob in load_catalogue()]


def test_the_enum_has_the_choices_of_every_mode() -> None:
    """In their order, which the wire counts by."""
    names = tuple(value.name for value in KnobMode.desc().values)
    for knob in load_catalogue():
        assert knob.type is not KnobType.MODE or knob.choices == names


def test_the_printed_proto_compiles_alone(tmp_path: Path) -> None:
    """A client needs nothing but this one file."""
    (tmp_path / "knobs.proto").write_text(whole_proto(load_catalogue()), encoding="utf-8")
    compiler = [sys.executable, "-m", "grpc_tools.protoc", f"-I{tmp_path}"]
    out = tmp_path / "set"
    subprocess.run([*compiler, f"--descriptor_set_out={out}", "knobs.proto"], check=True)
    for name in (b"ContextEngineKnobsConfigService", b"retrieval_min_score", b"KnobMode"):
        assert name in out.read_bytes()
