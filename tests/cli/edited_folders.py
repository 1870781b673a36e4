"""A small repository, and all that may be done to its files between two runs of a command."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from tests.knobs.foreign import write_foreign_schema

if TYPE_CHECKING:
    from collections.abc import Callable


EAST, WEST = "Pacific/Kiritimati", "Etc/GMT+12"
"""Two time zones in which it is never the same day."""
IN_THE_WEST = datetime.now(timezone(timedelta(hours=-12))).date()
TENANT = "tenant: acme\nlayers: [ent]\nlabels: {tier: free}\nknobs: {retrieval_min_score: 0.45}\n"
FILES = {
    "tenants/acme.yaml": TENANT,
    "tenants/bolt.yaml": "tenant: bolt\nknobs:\n  rrf_k: 0\n  retrieval_vector_top_k: 48\n",
    "layers/ent.yaml": "layer: ent\nknobs: {rrf_k: 60}\n",
    "policies/own.yaml": "policy: own\nseverity: warning\nwhen: effective.rrf_k < 61\nmessage: of {today}\nexamples: {pass: [], fail: []}\n",
    "waivers/w.yaml": f"waiver: w\nrule: floor-above-vector-ceiling\ntenants: [acme]\nreason: r\napproved_by: a\nexpires: {IN_THE_WEST}\n",
    "fleet.yaml": "fleet: prod\ninclude: ['tenants/*']\n",
    "knobctl.toml": "",
}  # fmt: skip
CONTENTS = [
    *FILES.values(),
    TENANT.replace("0.45", "0.3"),
    TENANT.replace("0.45", "0.450"),
    TENANT.replace("acme", "bolt"),
    TENANT.replace("\n", "\r\n"),
    TENANT.replace("0.45", "high"),
    "tenant: [\n",
    "layer: ent\nknobs: {rrf_k: 10}\n",
    "policy: own\nseverity: error\nwhen: 1 / (effective.rrf_k - 60) > 0\nmessage: m\nexamples: {pass: [], fail: []}\n",
    "policy: own\nseverity: error\nwhen: nope\nmessage: m\nexamples: {pass: [], fail: []}\n",
    "fleet: prod\n",
    "a: stranger\n",
    "",
    "[severity.own]\nseverity = 'error'\nreason = 'r'\n",
    "skip = ['tenants/b*']\n",
    "default_fleet = 'prod'\n",
    "schema = 'other-engine.schema.json'\n",
    "nonsense = 1\n",
]  # fmt: skip
NAMES = [*FILES, "tenants/new.yaml", "tenants/.hidden.yaml", "tenants/no\udcff.yaml", "deep/er/x.yml", "deep/knobctl.toml", "README.md", "other-engine.schema.json"]  # fmt: skip
edits = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(CONTENTS)),
    st.tuples(st.just("remove"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("repository"), st.sampled_from(["deep/.git", "tenants/.git"]), st.none()),
    st.tuples(st.just("zone"), st.sampled_from([EAST, WEST]), st.none()),
    st.tuples(st.just("schema"), st.just("other-engine.schema.json"), st.none()),
    st.tuples(st.just("folder"), st.sampled_from([".", "tenants"]), st.none()),
)


def write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def edit_file(
    folder: Path,
    edit: tuple[str, str, str | None],
    monkeypatch: pytest.MonkeyPatch,
    in_zone: Callable[[str], None],
) -> None:
    kind, name, what = edit
    path = folder / name
    match kind:
        case "write":
            path.unlink(missing_ok=True)
            write_file(path, what or "")
        case "remove":
            path.unlink(missing_ok=True)
        case "rename" if what and path.exists():
            (folder / what).parent.mkdir(parents=True, exist_ok=True)
            path.rename(folder / what)
        case "link" if what:
            path.unlink(missing_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(folder / what)
        case "repository":
            path.mkdir(parents=True, exist_ok=True)
        case "zone":
            in_zone(name)
        case "schema":
            path.unlink(missing_ok=True)
            write_foreign_schema(folder)
        case "folder" if path.is_dir():
            monkeypatch.chdir(path)
