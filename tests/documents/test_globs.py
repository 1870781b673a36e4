"""Path patterns of `skip` and `include`."""

from __future__ import annotations

import pytest

from knobctl.documents.globs import matcher


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("clusters/prod/**", "clusters/prod/a.yaml", True),
        ("clusters/prod/**", "clusters/prod/eu/a.yaml", True),
        ("clusters/prod/**", "clusters/production/a.yaml", False),
        ("clusters/prod/**", "x/clusters/prod/a.yaml", False),
        ("clusters/prod", "clusters/prod/eu/a.yaml", True),
        ("clusters/prod/", "clusters/prod/a.yaml", True),
        ("./clusters/prod", "clusters/prod/a.yaml", True),
        ("clusters/*/a.yaml", "clusters/prod/a.yaml", True),
        ("clusters/*/a.yaml", "clusters/prod/eu/a.yaml", False),
        ("clusters/**/a.yaml", "clusters/a.yaml", True),
        ("clusters/**/a.yaml", "clusters/x/y/a.yaml", True),
        ("**/*.tmp.yaml", "a.tmp.yaml", True),
        ("**/*.tmp.yaml", "x/a.tmp.yaml", True),
        ("*.yaml", "x/a.yaml", False),
        ("t?.yaml", "t1.yaml", True),
        ("t?.yaml", "t12.yaml", False),
        ("**", "a/b/c.yaml", True),
        ("a.yaml", "aXyaml", False),
        ("a[1].yaml", "a[1].yaml", True),
    ],
)
def test_a_pattern_matches_step_by_step(pattern: str, name: str, matches: bool) -> None:
    """`*` and `?` within one step, `**` over any number; a folder covers what is in it."""
    assert matcher([pattern])(name) is matches


def test_no_pattern_matches_nothing() -> None:
    """An empty list is no wish to match everything."""
    assert not matcher([])("a.yaml")


def test_several_patterns_are_alternatives() -> None:
    """One suffices."""
    assert matcher(["a/**", "b/**"])("b/x.yaml")
