"""What the index keeps of tenants' files: given back as it was, whoever wrote it and however often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knobctl.documents.index import Head, Index, Row, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import TypeAlias

    Run: TypeAlias = tuple[Mapping[str, Row], Mapping[str, Mapping[str, Verdict]]]

ALL = [digit * 40 for digit in "0123456789"]
GROUNDS = ["by one", "by two"]
CONTENTS = st.sampled_from(ALL)
HEADS = st.builds(
    Head,
    st.lists(st.sampled_from(["eu", "paid"]), max_size=2, unique=True).map(tuple),
    st.dictionaries(st.sampled_from(["tier", "\u2028"]), st.text(max_size=3), max_size=2),
    st.none() | st.text(max_size=3),
    st.lists(st.just("a/b.json"), max_size=1).map(tuple),
)
KNOBS = st.dictionaries(
    st.sampled_from(["rrf_k", "mmr_lambda", "gate_mode"]),
    st.sampled_from([0.0, -0.0, 0.1, 1, 1.0, 60, 5e-324, "ENABLED"]),
)
ROWS = st.builds(Row, st.sampled_from(["acme", "bolt"]), HEADS, KNOBS)
VERDICTS = st.builds(
    Verdict,
    st.dictionaries(st.sampled_from(["error", "info"]), st.integers(1, 9)),
    st.lists(st.tuples(st.just("w"), st.none() | st.just("v")), max_size=1).map(tuple),
    st.lists(st.sampled_from(["floor", "depth"]), max_size=2, unique=True).map(tuple),
)
RUNS = st.lists(
    st.tuples(
        st.dictionaries(CONTENTS, ROWS, max_size=4),
        st.dictionaries(st.sampled_from(GROUNDS), st.dictionaries(CONTENTS, VERDICTS, max_size=3)),
    ),
    max_size=20,
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(runs=RUNS)
def test_what_runs_noted_is_found_by_the_next_one(tmp_path: Path, runs: list[Run]) -> None:
    """Values with their types, the order of knobs, the signs of zeros; of two rows the later one."""
    path = tmp_path / "index"
    path.unlink(missing_ok=True)
    rows: dict[str, Row] = {}
    judged: dict[str, dict[str, Verdict]] = {}
    for noted, said in runs:
        index = Index(path, "key")
        found = dict(zip(ALL, index.find(ALL), strict=True))
        assert repr(found) == repr({content: rows.get(content) for content in ALL})
        for by in GROUNDS:
            assert index.verdicts(by) == judged.get(by, {})
        for content, row in noted.items():
            index.note(content, row)
            rows[content] = row
        for by, verdicts in said.items():
            for content, verdict in verdicts.items():
                index.judge(content, by, verdict)
                judged.setdefault(by, {})[content] = verdict
        index.save()


def test_of_many_runs_only_what_the_last_one_needed_is_kept(tmp_path: Path) -> None:
    """So the file of a repository that is edited every day does not grow for ever."""
    path = tmp_path / "index"
    rows = [Row("acme", Head((), {}, None, ()), {"rrf_k": number}) for number in range(40)]
    for number, row in enumerate(rows):
        index = Index(path, "key")
        list(index.find([str(number - 1)]))
        index.note(str(number), row)
        index.save()
    last = Index(path, "key")
    *older, newest = last.find([str(number) for number in range(40)])
    assert newest == rows[-1]
    assert sum(row is not None for row in older) < 20


def test_an_index_of_another_program_is_none(tmp_path: Path) -> None:
    """What decides what reading finds has changed with it."""
    index = Index(tmp_path / "index", "key")
    index.note("0", Row("acme", Head((), {}, None, ()), {}))
    index.save()
    assert list(Index(tmp_path / "index", "another").find(["0"])) == [None]
