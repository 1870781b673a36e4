"""An editor's YAML language server with the schemas of a new repository, and with those beside each other.

Needs node and npm, and what npm can install from.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.meeting.language_server import editor
from tests.running import Knobctl

SERVER = "yaml-language-server@1.25.0"
FLEET = Path(__file__).parents[2] / "examples" / "fleet"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that starts the server."""
    place = tmp_path_factory.mktemp("node")
    subprocess.run(
        ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", place, SERVER],
        check=True,
        capture_output=True,
    )
    return ["node", str(place / "node_modules/.bin/yaml-language-server"), "--stdio"]


def place_of(path: Path, text: str) -> tuple[int, int]:
    """Line and column, from 1, of the second character of a text in a file."""
    before = path.read_text().partition(text)[0]
    return before.count("\n") + 1, len(before.rpartition("\n")[2]) + 2


def test_the_documents_of_a_new_repository_are_explained(
    server: list[str], knobctl: Knobctl
) -> None:
    """No fault in any of them; hovering over a knob, a policy's and a fleet's key says what it is."""
    assert knobctl("init", "knobs").code == 0
    folder = knobctl.folder / "knobs"
    with editor(server, folder) as one:
        for path in (*sorted(folder.glob("[!.]*/**/*.yaml")), folder / "fleet.yaml"):
            assert one.faults(one.open(path)) == [], path
        for name, key, said in (
            ("tenants/acme.yaml", "retrieval_min_score: 0.45", "Relevance floor applied"),
            ("layers/enterprise.yaml", "assembly_token_budget", "Token ceiling"),
            ("policies/long-prompts-are-for-enterprise.yaml", "when:", "true means a finding"),
            ("fleet.yaml", "reason_required", "Reason required"),
        ):
            path = folder / name
            assert said in one.hover(path.as_uri(), *place_of(path, key)), name


def test_a_wrong_value_is_flagged_at_its_line(server: list[str], knobctl: Knobctl) -> None:
    """A value beyond its range, and a knob that does not exist, where they stand."""
    assert knobctl("init", "knobs").code == 0
    text = (knobctl.folder / "knobs/tenants/bolt.yaml").read_text()
    path = knobctl.write(
        "knobs/tenants/bolt.yaml", f"{text}  retrieval_min_score: 45\n  retrieval_min_skore: 0.3\n"
    )
    last = path.read_text().count("\n")
    with editor(server, knobctl.folder / "knobs") as one:
        faults = one.faults(one.open(path))
    assert [line for line, _ in faults] == [last - 1, last]
    assert "maximum of 1" in faults[0][1]
    assert "retrieval_min_skore" in faults[1][1]


def test_schemas_beside_each_other_resolve(server: list[str]) -> None:
    """The example fleet names the schema of this checkout, which refers to those beside it."""
    with editor(server, FLEET) as one:
        for path in sorted(FLEET.glob("[!.]*/**/*.yaml")):
            assert re.match(r"# yaml-language-server: ", path.read_text()), path
            assert one.faults(one.open(path)) == [], path
        path = FLEET / "tenants/acme.yaml"
        hover = one.hover(path.as_uri(), *place_of(path, "retrieval_min_score"))
    assert "Relevance floor applied" in hover
