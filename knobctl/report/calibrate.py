"""What was measured of a corpus' noise floor, as text. Of the probes only numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.evidence.noise_floor import DEFAULT_PROBES, TIGHT_VAULT_MU, clamp_sigma, is_tight
from knobctl.evidence.snapshot import Mode
from knobctl.report.ages import ago
from knobctl.report.reach import wrapped
from knobctl.text import count, ends_in_percent, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from knobctl.evidence.calibrating import Calibration
    from knobctl.evidence.noise_floor import Measurement
    from knobctl.evidence.rates import Rate
    from knobctl.evidence.resampling import Interval
    from knobctl.evidence.snapshot import Fingerprint, Kept, Snapshot

PROVISIONAL = (
    "PROVISIONAL: where weak, moderate and strong part was fitted on two corpora (1 and 2.5 standard deviations);"
    " the cut-off is the robust part."
)
TIGHT = (
    f"tight corpus: its chunks are so alike (mu at or above {TIGHT_VAULT_MU}) that the best correct match often"
    " reads weak; there weak can mean best available, not irrelevant."
)
NEEDS_VECTORS = (
    "not told over HTTP: needs the vectors; run it where the store is (--engine embedded:FILE)"
)
_LABEL = 13


def calibration_text(kept: Kept, now: datetime, *, command: str = "") -> str:
    """Tell people what one calibration says.

    Args:
        kept: The calibration, as it stands.
        now: The time, with its zone.
        command: What labels a cosine by it.
    """
    snapshot = kept.snapshot
    rows = [heading(snapshot)]
    if snapshot.measured:
        rows += [*_measured(snapshot.measured)]
    if snapshot.given:
        rows += [*_given(snapshot.given)]
    mu = _mu(snapshot)
    if mu is not None and is_tight(mu):
        rows.append(_row("", TIGHT))
    if kept.mismatches:
        rows.append(_row("does not hold", "; ".join(kept.mismatches)))
    if kept.drift:
        rows.append(_row("drift", kept.drift))
    rows += [_row("kept", _age(snapshot, now, anew=kept.anew)), _row("", visible(str(kept.path)))]
    if command and not kept.mismatches:
        rows.append(f"{'ask it':<{_LABEL}} {command}")  # never torn: it is to be copied
    return "\n".join(rows)


def heading(snapshot: Snapshot) -> str:
    """Whose corpus it is, and what made its vectors."""
    made = snapshot.fingerprint
    return (
        f"{snapshot.subject.words}: {count(made.corpus.chunks, 'chunk')}, {encoder_words(made)}, "
        f"{count(made.probes.number, 'probe')}{_set(snapshot)}"
    )


def encoder_words(made: Fingerprint) -> str:
    """The embedder, as far as it is known."""
    encoder = made.encoder
    parts = [f"{encoder.dims} dimensions" if encoder.dims else "", encoder.pooling or ""]
    told = ", ".join(visible(part) for part in parts if part)
    return f"{visible(encoder.model or 'an embedder nobody names')}{f' ({told})' if told else ''}"


def _set(snapshot: Snapshot) -> str:
    version = snapshot.fingerprint.probes.version
    if snapshot.mode is Mode.COMPAT:
        return ", as the given package measures"
    return f" of set {version}" if version is not None else " of your own"


def _row(label: str, text: str) -> str:
    return wrapped(f"{label:<{_LABEL}} {text}", indent=" " * (_LABEL + 1))


def _measured(found: Calibration) -> Iterator[str]:
    if found.faults:
        yield _row("not measurable", "; ".join(found.faults))
        yield _row("", "no cosine gets a label; a guess would be worse than none")
    yield from _floor(found)
    if found.mean is not None and found.deviation is not None and found.highest is not None:
        yield _row(
            "maxima",
            f"of the probes: mean {found.mean:.3f}, standard deviation {found.deviation:.3f}, largest {found.highest:.3f}",
        )
    if found.repeated:
        yield _row(
            "", f"{count(found.repeated, 'probe')} as near to every chunk as another: counted once"
        )
    yield from _stands_on(found)
    yield from _among(found)
    yield from _on_topic(found)
    if not found.faults:
        yield _row("", PROVISIONAL)


def _floor(found: Calibration) -> Iterator[str]:
    if found.noise_floor is None or found.false_accept is None:
        return
    accept = found.false_accept
    low, high = ends_in_percent(accept.low, accept.high)
    yield _row(
        "noise floor",
        f"{found.noise_floor:.3f}: an off-topic question comes nearer {accept.expected:.1%} of the time;"
        f" over the choice of probes {low}% to {high}% (95%)",
    )
    if found.intervals and found.intervals.noise_floor:
        yield _row(
            "",
            f"{_interval(found.intervals.noise_floor)} over {found.asked.resamples:,} resamples of the chunks"
            f" (95%, seed {found.asked.seed}); a resample holds 63% of them, so it lies low",
        )


def _stands_on(found: Calibration) -> Iterator[str]:
    if found.attained is not None:
        on = found.attained
        yield _row(
            "stands on",
            f"probe {on.probe} and chunk {visible(on.chunk)}: {_number(on.without_probe)} were a probe at or above it far off,"
            f" {_number(on.without_chunk)} without that chunk",
        )
    if found.hub is not None:
        hub, probes = found.hub, len(found.off_topic.maxima)
        without = "" if hub.without is None else f"; {hub.without:.3f} without it"
        yield _row(
            "hub",
            f"chunk {visible(hub.chunk)} is the closest one to {hub.probes:,} of {count(probes, 'probe')} ({hub.probes / probes:.1%}){without}",
        )


def _among(found: Calibration) -> Iterator[str]:
    among = found.among
    if among is None:
        yield _row("chunks", f"mu and sigma are {NEEDS_VECTORS}")
        return
    if among.mu is None or among.sigma is None:
        return
    told = found.intervals
    yield _row(
        "chunks",
        f"mu {among.mu:.3f}{_beside(told.mu if told else None)}, sigma {among.sigma:.3f}{_beside(told.sigma if told else None)}"
        f" over {count(among.pairs, 'pair')}",
    )
    if among.copies:
        yield _row(
            "copies",
            f"{count(among.copies, 'chunk')} with the vector of another: they raise mu and say nothing new",
        )


def _on_topic(found: Calibration) -> Iterator[str]:
    if found.on_topic is None:
        return
    on = found.on_topic
    silenced = "" if on.at_or_under is None else f"{share(on.at_or_under)} at or under the floor; "
    auc = "unknown" if on.auc is None else f"{on.auc:.3f}"
    yield _row("on topic", f"{silenced}AUC against the probes {auc}")


def _given(found: Measurement) -> Iterator[str]:
    yield _row(
        "noise floor", f"{found.noise_floor:.4f}: the largest cosine of {found.probes} probes"
    )
    yield _row(
        "chunks",
        f"mu {found.mu:.4f}, sigma {found.sigma:.4f} ({clamp_sigma(found.sigma):.4f} in use) over {count(found.pairs, 'pair')}",
    )
    yield _row(
        "",
        "PROVISIONAL: the bands were fitted on two corpora. The largest of eight lets a fresh off-topic question"
        " through one time in nine, up to 31% over the choice of probes; leave --compat out for a floor with a rate.",
    )
    if found.probes != len(DEFAULT_PROBES):
        yield _row(
            "", f"the given package has {len(DEFAULT_PROBES)} probes, here there are {found.probes}"
        )


def _mu(snapshot: Snapshot) -> float | None:
    if snapshot.given:
        return snapshot.given.mu
    among = snapshot.measured.among if snapshot.measured else None
    return among.mu if among else None


def _age(snapshot: Snapshot, now: datetime, *, anew: bool) -> str:
    expired = now >= snapshot.expires_at
    until = f"{'expired on' if expired else 'until'} {snapshot.expires_at.date()}"
    if anew:
        return until
    return f"measured {ago(snapshot.made_at.isoformat(), now)}, {until}; --force measures anew"


def share(rate: Rate) -> str:
    """Counts, the share, and its exact interval."""
    if rate.value is None or rate.low is None or rate.high is None:
        return "n/a"
    low, high = ends_in_percent(rate.low, rate.high)
    return f"{rate.numerator:,} of {rate.denominator:,} ({rate.value:.1%}, {low}% to {high}%)"


def _interval(interval: Interval) -> str:
    return f"{interval[0]:.3f} to {interval[1]:.3f}"


def _beside(interval: Interval | None) -> str:
    return f" ({_interval(interval)})" if interval else ""


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def calibrations_text(found: Sequence[Kept], now: datetime) -> str:
    """List what is kept, a line each."""
    if not found:
        return "no calibration is kept; measure one: knobctl calibrate --tenant T"
    return "\n".join(
        f"{_summary(one.snapshot)}  {_age(one.snapshot, now, anew=True)}" for one in found
    )


def _summary(snapshot: Snapshot) -> str:
    where = f" on {visible(snapshot.subject.engine)}" if snapshot.subject.engine else ""
    return f"{snapshot.subject.words}{where}  {_floor_words(snapshot)}"


def _floor_words(snapshot: Snapshot) -> str:
    if snapshot.given:
        return f"compat, noise floor {snapshot.given.noise_floor:.3f}"
    found = snapshot.measured
    if found is None or found.noise_floor is None:
        return "not measurable"
    return f"noise floor {found.noise_floor:.3f} at {found.asked.alpha:g}"
