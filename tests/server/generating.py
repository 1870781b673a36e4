"""Generates the code in `knobctl/server/wire`: run `python tests/server/generating.py` after a change of the knobs or of a `.proto`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from knobctl.knobs import load_catalogue
from knobctl.knobs.derived import proto_text

ROOT = Path(__file__).parents[2]
WIRE = Path("knobctl/server/wire")


def generated() -> dict[str, str]:
    """Give what is generated, by file name: the message of the knobs, and the code for every `.proto`."""
    with tempfile.TemporaryDirectory() as scratch:
        wire = Path(scratch) / WIRE
        wire.mkdir(parents=True)
        for proto in (ROOT / WIRE).glob("*.proto"):
            (wire / proto.name).write_bytes(proto.read_bytes())
        (wire / "knobs.proto").write_text(proto_text(load_catalogue()), encoding="utf-8")
        _run_compiler(Path(scratch))
        made = [wire / "knobs.proto", *wire.glob("*_pb.py"), *wire.glob("*_connect.py")]
        return {path.name: path.read_text(encoding="utf-8") for path in made}


def _run_compiler(root: Path) -> None:
    plugins = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    protos = sorted(str(path.relative_to(root)) for path in (root / WIRE).glob("*.proto"))
    compiler = [sys.executable, "-m", "grpc_tools.protoc", "-I."]
    subprocess.run(
        [*compiler, "--py_out=.", "--connectrpc_out=.", *protos],
        cwd=root,
        env={**os.environ, "PATH": plugins},
        check=True,
    )


if __name__ == "__main__":
    for name, text in generated().items():
        (ROOT / WIRE / name).write_text(text, encoding="utf-8")
