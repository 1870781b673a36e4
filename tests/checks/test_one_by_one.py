"""Tenants judged one at a time get what a run over all of them says."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from knobctl.checks import check_repository
from knobctl.checks.one_by_one import OneByOne
from knobctl.documents.repository import open_repository

if TYPE_CHECKING:
    from pathlib import Path

TODAY = date(2026, 11, 30)
FLEET = {
    "acme": "tenant: acme\nknobs: {retrieval_min_score: 0.45}\n",
    "bolt": "tenant: bolt\nknobs: {retrieval_min_score: 0}\n",
    "calm": "tenant: calm\nknobs: {}\n",
    "cask": "tenant: cask\nknobs: {retrieval_min_score: 7}\n",
    "twin": "tenant: calm\nknobs: {}\n",
    "torn": "tenant: torn\nknobs: {rrf_k: [1\n",
    "waiver": "waiver: bolts\nrule: zero-means-default\ntenants: [bolt]\nreason: agreed\napproved_by: anna\nexpires: 2027-01-31\n",
}


def fleet(folder: Path) -> Path:
    """Write the fleet, one file each."""
    (folder / "knobctl.toml").write_text("")
    for name, text in FLEET.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def test_one_tenant_gets_what_a_run_over_all_says_of_it(tmp_path: Path) -> None:
    """Policies, waivers and faults of the document itself: the same findings, whatever the order."""
    repository = open_repository([], catalogue=None, cwd=fleet(tmp_path), stdin=bytes)
    whole = check_repository(repository, today=TODAY).findings
    looking = OneByOne(repository, today=TODAY, fleet=None)
    for tenant in reversed(repository.tenants):
        found = looking.findings(tenant)
        said = {(one.rule, one.message, one.waived_by) for one in found}
        wanted = {
            (one.rule, one.message, one.waived_by)
            for one in whole
            if one.tenant == tenant.name and one.primary and one.primary.file == tenant.source
        }
        assert said == wanted
        assert looking.findings(tenant) == found


def test_files_without_a_tenant_are_told_by_their_name(tmp_path: Path) -> None:
    """A torn file is nobody's, and is not forgotten for that."""
    repository = open_repository([], catalogue=None, cwd=fleet(tmp_path), stdin=bytes)
    looking = OneByOne(repository, today=TODAY, fleet=None)
    assert "torn.yaml" in looking.by_file
    assert "acme.yaml" not in looking.by_file
