"""docs/rules.md lists every rule id that a finding can carry.

To write it anew: python -m tests.checks.test_rules_page
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from knobctl.checks.built_in import built_in_documents
from knobctl.checks.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "rules.md"
GIVEN = re.compile(r"""(?:\brule=|\bRULE = )"([a-z-]+)\"""")


def page() -> str:
    """The page, from the policies and the table of the other rules."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# The rules"
    yield ""
    yield "Every id that a finding can carry. `--select` and `--ignore` take them, and a repository adds its own policies."
    yield ""
    yield "## What values do"
    yield ""
    yield "The built-in policies, asked by `knobctl check`, `plan` and `apply`. A waiver may name each; a repository may weigh each otherwise."
    yield "Infos appear only where a knob that the rule reads is written (with `--base`: changed)."
    yield ""
    yield "| rule | severity | says |"
    yield "|---|---|---|"
    for document in sorted(built_in_documents(), key=lambda document: document.name):
        link = f"[`{document.name}`](../policies/{document.name}.yaml)"
        yield f"| {link} | {document.value['severity']} | {document.value['title']} |"
    yield ""
    yield "## What documents are"
    yield ""
    yield "Most are given by `knobctl validate` already."
    yield ""
    yield "| rule | severity | says |"
    yield "|---|---|---|"
    for rule, about in RULES.items():
        severities = " or ".join(sorted(about.severities))
        yield f"| `{rule}` | {severities} | {about.says} |"


def test_the_page_is_current() -> None:
    """A rule without a row, or a row without a rule, is a lie."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_rule_that_the_code_names_is_listed() -> None:
    """Whichever command gives the finding."""
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "knobctl").rglob("*.py"))
    given = {rule for source in sources for rule in GIVEN.findall(source)}
    assert {"not-canonical", "audit-chain-broken", "policy-error"} <= given
    assert given <= set(RULES)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
