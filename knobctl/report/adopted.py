"""The waivers that a check wrote, for people and machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knobctl.finding import Severity
from knobctl.text import count

if TYPE_CHECKING:
    from knobctl.checks.adopting import Adoption
    from knobctl.checks.report import Report


def adopted_text(adopted: Adoption, report: Report) -> str:
    """Which waivers were written: how many findings they let off, until when, and what stays."""
    staying = [one for one in report.pressing if one.counts and one.severity is not Severity.INFO]
    rules = ", ".join(sorted({one.rule for one in staying}))
    stays = f"; {count(len(staying), 'finding')} no waiver can let off: {rules}" if staying else ""
    if not adopted.files:
        return f"nothing to let off: no waiver was written{stays}"
    what = (
        f"{count(adopted.findings, 'finding')} of {count(adopted.rules, 'rule')} "
        f"in {count(adopted.tenants, 'tenant')}"
    )
    return (
        f"wrote {', '.join(adopted.files)}: {count(adopted.waivers, 'waiver')} for {what}, "
        f"until {adopted.expires}{stays}"
    )


def adopted_json(adopted: Adoption) -> dict[str, Any]:
    """The same for machines."""
    return {
        "files": list(adopted.files),
        "waivers": adopted.waivers,
        "findings": adopted.findings,
        "rules": adopted.rules,
        "tenants": adopted.tenants,
        "expires": adopted.expires.isoformat(),
    }
