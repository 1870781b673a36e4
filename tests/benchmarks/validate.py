"""Validation of 10,000 tenant files against two named peers, and check against validate.

Run: python -m tests.benchmarks.validate [COUNT]

The peers are installed into a temporary folder: check-jsonschema from PyPI, and Sourcemeta's
`jsonschema` from npm (a C++ binary), which is left out, and said so, where npm is missing.
"""

import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tests.benchmarks.timing import line, medians, peak_mebibytes, tenant_files

SCHEMA = Path(__file__).parent.parent.parent / "schemas" / "knob-set.v1.schema.json"


def peers(folder: Path, files: Path) -> dict[str, list[str]]:
    """Install what we compare with, and give its command lines."""
    venv.create(folder / "venv", with_pip=True)
    subprocess.run([str(folder / "venv/bin/pip"), "install", "-q", "check-jsonschema"], check=True)
    paths = [str(path) for path in sorted(files.glob("*.yaml"))]
    commands = {
        "check-jsonschema": [
            str(folder / "venv/bin/check-jsonschema"),
            "--schemafile",
            str(SCHEMA),
            *paths,
        ]
    }
    if npm := shutil.which("npm"):
        subprocess.run(
            [npm, "install", "--silent", "--prefix", str(folder), "@sourcemeta/jsonschema"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        flat = folder / "tenant.json"
        flat.write_text(bundled())
        commands["sourcemeta"] = [
            str(folder / "node_modules/.bin/jsonschema"),
            "validate",
            str(flat),
            str(files),
            "--extension",
            ".yaml",
        ]
    else:
        print("npm is missing: Sourcemeta's jsonschema is left out")
    return commands


def bundled() -> str:
    """The tenant schema and all that it refers to, as one file that needs nothing else."""
    import json

    base = "https://example.invalid/"
    parts = {
        name: json.loads((SCHEMA.parent / name).read_text()) | {"$id": base + name}
        for name in ("layer.v1.schema.json", "context-engine-knobs.v1.schema.json")
    }
    tenant = json.loads((SCHEMA.parent / "tenant.v1.schema.json").read_text())
    tenant["$id"] = base + "tenant.v1.schema.json"
    tenant["$defs"] |= parts
    return json.dumps(tenant)


def main() -> None:
    """Print each ratio beside its limit."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    knobctl = str(Path(sys.executable).parent / "knobctl")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = folder / "fleet"
        files.mkdir()
        tenant_files(files, count)
        commands = peers(folder, files)
        ours = {
            "validate": [knobctl, "validate", str(files)],
            "check": [knobctl, "check", str(files)],
        }
        slow = medians(
            {"check-jsonschema": commands.pop("check-jsonschema")}, repeats=1, fresh_home=False
        )
        fast = medians({**ours, **commands}, repeats=5, fresh_home=False)
        print(f"{count:,} files; validate {fast['validate']:.2f} s")
        print(
            line("validate to check-jsonschema", fast["validate"] / slow["check-jsonschema"], 0.06)
        )
        if "sourcemeta" in fast:
            print(
                line(
                    "validate to Sourcemeta's jsonschema", fast["validate"] / fast["sourcemeta"], 4
                )
            )
        print(line("check to validate", fast["check"] / fast["validate"], 2))
        print(line("memory of validate in MiB", peak_mebibytes(ours["validate"]), 300))


if __name__ == "__main__":
    main()
