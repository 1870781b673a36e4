"""Findings as SARIF 2.1.0, in the part of it that code hosts read.

Source: OASIS SARIF 2.1.0; code scanning takes at most 25,000 results, and refuses a report of which
one result has no file.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from knobctl import __version__
from knobctl.finding import Severity, json_value
from knobctl.report.checkout import anchored, gravest_first, is_whole_file, path_of
from knobctl.report.fingerprints import fingerprints
from knobctl.report.folding import grouped, tenants_of
from knobctl.report.pieces import json_pieces
from knobctl.report.rule_words import RuleWords, rule_words
from knobctl.report.summary import not_shown, waiver_words
from knobctl.text import count, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knobctl.checks.report import Report
    from knobctl.finding import Finding, Location, Related
    from knobctl.report.formats import FindingsAnswer

MOST_RESULTS: Final = 25_000
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_ROOT: Final = "%SRCROOT%"
_LINK: Final = re.compile(r"\[(?=[^\]]*\]\()")
"""In a message `[text](target)` is a link, unless its bracket is escaped."""


def render(answer: FindingsAnswer) -> Iterator[str]:
    """Write the log in pieces."""
    findings = gravest_first(answer.findings)
    rules = rule_words(answer.report, findings)
    kept = findings[:MOST_RESULTS]
    log = {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(rules)},
                "automationDetails": {"id": f"knobctl {answer.report.command}/"},
                "invocations": [_invocation(answer, left_out=len(findings) - len(kept))],
                "originalUriBaseIds": {
                    _ROOT: {"description": {"text": "The top of the checkout."}}
                },
                "columnKind": "unicodeCodePoints",
                "results": [],
            }
        ],
    }
    return json_pieces(log, "results", _results(answer, kept, list(rules)))


def _driver(rules: Mapping[str, RuleWords]) -> dict[str, Any]:
    return {
        "name": "knobctl",
        "version": __version__,
        "rules": [_rule(name, words) for name, words in rules.items()],
    }


def _rule(name: str, words: RuleWords) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": printable(words.title)},
        "fullDescription": {"text": printable(f"{words.title}.")},
        "help": {"text": printable(words.help, keep="\n")},
        "defaultConfiguration": {"level": _LEVELS[words.severity]},
        "properties": {
            "tags": [words.kind],
            "problem.severity": {"note": "recommendation"}.get(
                _LEVELS[words.severity], words.severity.value
            ),
        },
    }


def _invocation(answer: FindingsAnswer, *, left_out: int) -> dict[str, Any]:
    notes = []
    if left_out:
        notes.append(
            f"{count(left_out, 'finding')} left out, the lightest ones: code hosts take {MOST_RESULTS:,}. "
            "All of them: --output json=FILE"
        )
    notes += not_shown(answer.hidden)
    told = [{"level": "note", "message": {"text": note}} for note in notes]
    return {
        "executionSuccessful": True,
        "exitCode": int(answer.code),
        "exitCodeDescription": answer.code.outcome,
        **({"toolExecutionNotifications": told} if told else {}),
    }


def _results(
    answer: FindingsAnswer, findings: Sequence[Finding], rules: Sequence[str]
) -> Iterator[dict[str, Any]]:
    report = answer.report
    index = {name: at for at, name in enumerate(rules)}
    others = _sharing(findings)
    for finding, fingerprint in zip(findings, fingerprints(report, findings), strict=True):
        related = _related(finding.related, report)
        yield {
            "ruleId": finding.rule,
            "ruleIndex": index[finding.rule],
            "level": _LEVELS[finding.severity],
            "message": {"text": _message(finding, others.get(id(finding), ()))},
            "locations": _locations(finding, report),
            **({"relatedLocations": related} if related else {}),
            "partialFingerprints": {"knobctl/v1": fingerprint},
            **_standing(answer, finding),
            "properties": {
                "tenant": finding.tenant,
                "fieldPath": finding.field_path,
                "value": json_value(finding.value),
                "hint": finding.hint,
            },
        }


def _sharing(findings: Sequence[Finding]) -> dict[int, list[str]]:
    """By finding, the other tenants of whom the same is said at the same place."""
    found: dict[int, list[str]] = {}
    for group in grouped(findings):
        names = tenants_of(group) if len(group) > 1 else []
        for one in group if len(names) > 1 else ():
            found[id(one)] = names
    return found


def _message(finding: Finding, sharing: Sequence[str]) -> str:
    """What is, what it costs and what to write; hosts show one alert where several tenants share a line."""
    who = f"{finding.tenant}: " if finding.tenant else ""
    lines = [who + finding.message, *([finding.hint] if finding.hint else [])]
    if sharing:
        others = [name for name in sharing[:5] if name != finding.tenant]
        more = len(sharing) - 1 - len(others)
        rest = f" and {count(more, 'more tenant')}" if more else ""
        lines.append(f"The same for {', '.join(others)}{rest}.")
    return _LINK.sub(r"\\[", printable("\n".join(lines), keep="\n"))


def _locations(finding: Finding, report: Report) -> list[dict[str, Any]]:
    path, place = anchored(report, finding)
    return [] if path is None else [{"physicalLocation": _physical(path, place)}]


def _physical(path: str, place: Location | None) -> dict[str, Any]:
    artifact = {"uri": _uri(path), "uriBaseId": _ROOT}
    if place is None or is_whole_file(place):
        return {"artifactLocation": artifact}
    region = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    return {"artifactLocation": artifact, "region": region}


def _uri(path: str) -> str:
    """A name as a relative URI; what is no UTF-8 keeps its bytes."""
    return quote(os.fsencode(path), safe="/")


def _related(related: Sequence[Related], report: Report) -> list[dict[str, Any]]:
    found = []
    for number, other in enumerate(related, 1):
        path = path_of(report, other.location.file)
        if path is not None:  # a built-in policy lies in no checkout
            found.append(
                {
                    "id": number,
                    "message": {"text": _LINK.sub(r"\\[", printable(other.message))},
                    "physicalLocation": _physical(path, other.location),
                }
            )
    return found


def _standing(answer: FindingsAnswer, finding: Finding) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if answer.base is not None:
        found["baselineState"] = "unchanged" if finding.standing else "new"
    if finding.waived_by is not None:
        words = f"waiver {waiver_words(finding.waived_by, answer.report, str)}"
        found["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": printable(words)}
        ]
    return found
