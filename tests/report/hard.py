"""One deliberately hard report: a real branch of a real repository, in which every kind of finding stands."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import date
from pathlib import Path

from knobctl.changes.comparing import diff_base, removed_tenants
from knobctl.checks.judging import check_repository
from knobctl.checks.report import ordered
from knobctl.checks.selecting import Selection
from knobctl.documents.repository import open_repository
from knobctl.documents.revisions import open_base
from knobctl.errors import ExitCode
from knobctl.finding import Finding, Severity
from knobctl.report.formats import FindingsAnswer

TODAY = date(2026, 11, 29)
ODD_NAME = "tenants/ünïcode ::error, 100%|`x`.yaml"
HOSTILE = (
    "::set-output name=x::y ]]> </failure> <script>alert(1)</script> | `tick` ``` @octocat #123 "
    "GH-7 deadbeef1 https://evil.example/x www.evil.example [a](1) ![i](x) :tada: &amp; 100%0A %0D"
)
LONG = "word " * 1000

BEFORE = {
    "layers/wide.yaml": "layer: wide\nknobs:\n  retrieval_min_score: 0.3\n",
    "tenants/acme.yaml": "tenant: acme\nlayers: [wide]\nknobs:\n  retrieval_vector_top_k: 32\n",
    "tenants/bolt.yaml": "tenant: bolt\nlayers: [wide]\nknobs: {}\n",
    "tenants/core.yaml": "tenant: core\nlayers: [wide]\nknobs: {}\n",
    "tenants/dune.yaml": "tenant: dune\nlayers: [wide]\nknobs: {}\n",
    "tenants/gone.yaml": "tenant: gone\nknobs: {rrf_k: 30}\n",
    "tenants/old.yaml": "tenant: old\nknobs:\n  retrieval_min_score: 0.45\n  gate_expanded_floor: 0.45\n",
}
AFTER = {
    "layers/wide.yaml": "layer: wide\nknobs:\n  retrieval_min_score: 0.45\n",
    "tenants/acme.yaml": "# the line moved\ntenant: acme\nlayers: [wide]\nknobs:\n  rrf_k: 60\n",
    "tenants/empty.yaml": "",
    "tenants/lines.yaml": "tenant: lines\nknobs:\n  rrf_k: |\n    sixty\n    or so\n",
    ODD_NAME: "tenant: odd\nlabels: {note: '検索検索'}\nknobs:\n"
    f"  '検索 {HOSTILE}': 1\n  \"rtl \\u202e \\e[31m \\x07\": 2\n",
    "tenants/vale.yaml": "tenant: vale\nlabels: {tier: low}\nknobs:\n"
    "  retrieval_min_score: 0.5   # 検索\n  gate_expanded_floor: 0.5\n",
    "policy.yaml": "policy: says-hostile-things\ntitle: '<b>A title</b> | `x` ::error::y ]]>'\n"
    "severity: error\nwhen: \"'tier' in labels\"\nat: retrieval_min_score\n"
    f"message: |-\n  {{tenant}} {HOSTILE}\n  lost: {HOSTILE}\nhint: |-\n  write {HOSTILE}\n"
    "examples: {pass: [{knobs: {}}], fail: [{labels: {tier: low}}]}\n",
    "long.yaml": "policy: says-much\ntitle: Much\nseverity: warning\nwhen: \"'tier' in labels\"\n"
    f'message: "{LONG}"\nexamples: {{pass: [{{knobs: {{}}}}], fail: [{{labels: {{tier: low}}}}]}}\n',
    "waiver.yaml": "waiver: vale-legacy\nrule: floor-above-vector-ceiling\ntenants: [vale]\n"
    "reason: a contract\napproved_by: lead\nexpires: 2099-03-31\n",
}


def git(folder: Path, *arguments: str) -> None:
    """Run Git in a folder, as somebody, whatever this machine is set to."""
    who = ("-c", "user.name=b", "-c", "user.email=b@b", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def lay(folder: Path, files: dict[str, str]) -> None:
    """Write files below a folder, byte for byte."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def hard_repository(folder: Path) -> None:
    """Make the repository: a commit on main, and the branch's files in the working folder."""
    folder.mkdir(parents=True, exist_ok=True)
    lay(folder, BEFORE)
    git(folder, "init", "-q", ".")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "before")
    (folder / "tenants/gone.yaml").unlink()
    lay(folder, AFTER)


def hard_answer(folder: Path) -> FindingsAnswer:
    """Check the branch against main; what no repository gives is added: a finding without a place."""
    hard_repository(folder)
    here = open_repository([], catalogue=None, cwd=folder, stdin=lambda: b"")
    base = open_base(here, "main", [], catalogue=here.catalogue, cwd=folder)
    report = check_repository(here, today=TODAY, base=base)
    nowhere = Finding(
        rule="audit-chain-broken",
        severity=Severity.ERROR,
        message=f"{HOSTILE}\nkept: nothing",
        hint="ask",
    )
    report.pressing = ordered([*report.pressing, nowhere])
    report.policies = 20  # how many ship is not what this is about
    diffs = [one for one in diff_base(here, base, unsure=report.unsure) if one.changes]
    return FindingsAnswer(
        report=report,
        code=ExitCode.FINDINGS,
        fail_on=Severity.WARNING,
        base="main",
        changes=diffs,
        removed=removed_tenants(here, base, None, Selection()),
    )


def shifted(answer: FindingsAnswer, lines: int) -> FindingsAnswer:
    """The same answer with every finding some lines further down."""
    moved = [
        replace(
            one,
            primary=one.primary._replace(
                line=one.primary.line + lines, end_line=one.primary.end_line + lines
            )
            if one.primary
            else None,
        )
        for one in answer.report.pressing
    ]
    return replace(answer, report=replace(answer.report, pressing=moved))
