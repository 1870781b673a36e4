"""Secrets are taken out of what people asked; what only looks like one stays."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.evidence.harvest.redaction import KINDS, redacted
from tests.evidence.harvest.planted import PLANTED, drawn


def left_of(secret: str, text: str) -> str:
    """A part of a secret, eight characters long, that is still there; empty where none is."""
    parts = (secret[at : at + 8] for at in range(len(secret) - 7))
    return next((part for part in parts if part in text), "")


CASES = [(kind, seed) for kind in PLANTED for seed in range(8)]


def test_enough_are_planted() -> None:
    """At least 200 secrets of at least 25 kinds."""
    assert len(CASES) >= 200
    assert len(PLANTED) >= 25
    assert set(PLANTED) <= set(KINDS)


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_a_planted_secret_does_not_survive(kind: str, seed: int) -> None:
    """Nothing of it that is eight characters long is left, and it is counted."""
    around, draw = PLANTED[kind]
    secret = draw(Random(f"{kind} {seed}"))
    found: Counter[str] = Counter()
    text = redacted(f"Why does {around.format(secret)} fail for the whole team?", found)
    assert not left_of(secret, text), text
    assert found.total() >= 1
    assert text.startswith("Why does ")
    assert text.endswith("the whole team?")


@pytest.mark.parametrize(
    "text",
    [
        "Where is the sk-learn-pipeline-tutorial page in our wiki?",
        "Does commit 3f786850e387550fdab836ed7e6dc881de23001b fix the floor bug?",
        "Is run 123e4567-e89b-42d3-a456-426614174000 still on the board?",
        "Is the task-0123456789abcdef0123 ticket still open for us?",
        "What does the password policy say about token length?",
        "Why is retrieval_vector_top_k_for_the_whole_fleet not read at all?",
        "Does sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 match the image?",
        "Where is HttpEngineConnectionPoolTimeoutError raised in the client?",
        "What is in /usr/share/doc/python3-setuptools/examples/README.rst.gz these days?",
        "Why is https://example.test/docs/en/reference/configuration-of-floors?page=2 gone?",
        "Which is right: knobctl.evidence.harvest.redaction or KnobctlEvidenceHarvestRedaction?",
        "Why does the secret: of good tea matter to the basic cookie recipe?",
        "Is 2026-09-20T10:00:01.000Z before 1758362401000000 nanoseconds or after it?",
        "How is OAuth2ResourceServerAutoConfiguration of IPv4AddressRangeAllocatorV2Test used?",
        "Does image_sha256_e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 exist?",
        "Is curl -u user or mysql -u root -p app what asks for a password?",
        "Is the password required for login, and is it $2 or $5 a seat?",
        "Does ACCELERATED_MOBILE_PAGES_2026 count as a feature flag for us?",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    """Names, digests, UUIDs, paths and prose are no secrets."""
    found: Counter[str] = Counter()
    assert redacted(text, found) == text
    assert not found


@given(text=st.text(max_size=400))
@settings(deadline=None, max_examples=150)
def test_taking_out_twice_takes_out_nothing_more(text: str) -> None:
    """A mark is no secret, and no text makes it crash."""
    once = redacted(text, Counter())
    assert redacted(once, Counter()) == once


@pytest.mark.parametrize("kind", sorted(PLANTED))
def test_a_secret_is_taken_out_once(kind: str) -> None:
    """What stands in its place is taken for no secret in turn."""
    around, draw = PLANTED[kind]
    once = redacted(around.format(draw(Random(kind))), Counter())
    found: Counter[str] = Counter()
    assert redacted(once, found) == once
    assert not found


def test_high_entropy_is_told_from_hexadecimal() -> None:
    """A run drawn from all letters and digits is taken out whatever its maker; a digest is not."""
    chance = Random(7)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    for _ in range(100):
        found: Counter[str] = Counter()
        run = "xY7" + drawn(chance, letters, 40)
        assert run not in redacted(f"Is {run} valid for us?", found)
        digest = drawn(chance, "0123456789abcdef", 64)
        assert digest in redacted(f"Is {digest} the right digest?", found)
