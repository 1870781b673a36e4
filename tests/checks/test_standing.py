"""The law of the base: a finding is new exactly where a check of the base, as it was, did not have it."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.checks import check
from knobctl.checks.policies import load_policies
from knobctl.documents.repository import Repository, open_repository
from knobctl.errors import ExitCode
from knobctl.finding import Severity
from knobctl.knobs import load_catalogue
from tests.checks.documents import TODAY, acme, by_rule, checked

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from knobctl.finding import Finding
    from knobctl.knobs import KnobValue

TENANTS = ("a", "b", "c")
LAYERS = ("l", "m")
VALUES = {
    "retrieval_min_score": (0, 0.1, 0.3, 0.34, 0.45, 0.7, 9),
    "gate_expanded_floor": (0.2, 0.3, 0.45),
    "rrf_k": (10, 60, 0.5),
    "rrf_weight_vector": (0.5, 1),
    "mmr_lambda": (0, 0.7),
    "recency_ranker_mode": ("ENABLED", "DISABLED"),
    "no_such_knob": (1,),
}
RULES = (
    "floor-above-vector-ceiling", "floor-diverges-from-expanded-floor", "zero-means-default",
    "redundant-default", "own", "rank-constant-moves-depth",
)  # fmt: skip
CONDITIONS = (
    "effective.retrieval_min_score > 0.3", "effective.rrf_k == 60", "'x' in labels", "true",
    "knobs.rrf_k > 1", "size(effective) > 3",
)  # fmt: skip


ABOUT_CHANGE = ("rank-constant-moves-depth", "rankers-changed", "reset-by-omission")


class Tenant(NamedTuple):
    """What stands in a tenant's document."""

    layers: tuple[str, ...]
    knobs: dict[str, object]
    labels: dict[str, str]


class State(NamedTuple):
    """What stands in a repository, apart from the names of its files and the places in them."""

    tenants: dict[str, Tenant]
    layers: dict[str, dict[str, object]]
    policies: dict[str, tuple[str, str]]
    waivers: dict[str, tuple[str, str, object, str]]
    severities: dict[str, str]


class Layout(NamedTuple):
    """Where it stands."""

    folder: str
    lines: int
    together: bool


KNOBS = st.lists(st.sampled_from(list(VALUES)), max_size=3, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: st.sampled_from(VALUES[name]) for name in names})
)
A_TENANT = st.builds(
    Tenant,
    st.lists(st.sampled_from(LAYERS), max_size=2, unique=True).map(tuple),
    KNOBS,
    st.sampled_from([{}, {"x": "1"}]),
)
A_POLICY = st.tuples(st.sampled_from(list(Severity)).map(str), st.sampled_from(CONDITIONS))
A_WAIVER = st.tuples(
    st.sampled_from(RULES),
    st.sampled_from(TENANTS),
    st.sampled_from([None, 0.4]),
    st.sampled_from(["2099-01-01", "2020-01-01"]),
)
A_SEVERITY = st.sampled_from(["error", "warning", "info"])
STATES = st.builds(
    State,
    st.dictionaries(st.sampled_from(TENANTS), A_TENANT, min_size=1),
    st.dictionaries(st.sampled_from(LAYERS), KNOBS),
    st.dictionaries(st.sampled_from(["own", "other"]), A_POLICY, max_size=2),
    st.dictionaries(st.sampled_from(["v", "w"]), A_WAIVER, max_size=2),
    st.dictionaries(st.sampled_from(RULES[:3]), A_SEVERITY, max_size=1),
)
LAYOUTS = st.builds(Layout, st.sampled_from(["x", "y"]), st.integers(0, 2), st.booleans())


@st.composite
def edits(draw: st.DrawFn, state: State) -> State:
    """The state with a few of its parts replaced, added or taken away."""
    parts = state._asdict()
    kinds: dict[str, tuple[tuple[str, ...], st.SearchStrategy[Any]]] = {
        "tenants": (TENANTS, A_TENANT),
        "layers": (LAYERS, KNOBS),
        "policies": (("own", "other"), A_POLICY),
        "waivers": (("v", "w"), A_WAIVER),
        "severities": (RULES[:3], A_SEVERITY),
    }
    for kind in draw(st.lists(st.sampled_from(list(kinds)), max_size=2)):
        names, values = kinds[kind]
        name = draw(st.sampled_from(names))
        kept = {key: value for key, value in parts[kind].items() if key != name}
        is_taken_away = draw(st.booleans()) and bool(kept)
        parts[kind] = kept if is_taken_away else {**kept, name: draw(values)}
    return State(**parts)


def written(state: State, layout: Layout, root: Path) -> None:
    """Write a state in a layout, in place of what was there."""
    for old in root.iterdir():
        if old.name != ".git":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    (root / layout.folder).mkdir()
    (root / "knobctl.toml").write_text(
        "".join(
            f'[severity.{rule}]\nseverity = "{severity}"\nreason = "r"\n'
            for rule, severity in state.severities.items()
        )
    )
    texts = dict(documents(state))
    if layout.together:
        texts = {"all": "---\n".join(texts.values())}
    for name, text in texts.items():
        (root / layout.folder / f"{name}.yaml").write_text("# a line\n" * layout.lines + text)


def documents(state: State) -> list[tuple[str, str]]:
    """The documents of a state, each with a name for its file."""

    def knobs(values: Mapping[str, object]) -> str:
        lines = "".join(f"  {name}: {value}\n" for name, value in values.items())
        return f"knobs:\n{lines}" if lines else "knobs: {}\n"

    found = [
        (f"t-{name}", f"tenant: {name}\nlayers: [{', '.join(one.layers)}]\nlabels: {one.labels}\n{knobs(one.knobs)}")
        for name, one in state.tenants.items()
    ]  # fmt: skip
    found += [
        (f"l-{name}", f"layer: {name}\n{knobs(values)}") for name, values in state.layers.items()
    ]
    found += [
        (f"p-{name}", f'policy: {name}\nseverity: {severity}\nwhen: "{when}"\nat: rrf_k\nmessage: m\n')
        for name, (severity, when) in state.policies.items()
    ]  # fmt: skip
    for name, (rule, tenant, bound, expires) in state.waivers.items():
        up_to = f"up_to: {bound}\n" if bound else ""
        found.append(
            (f"w-{name}", f"waiver: {name}\nrule: {rule}\ntenants: [{tenant}]\n{up_to}reason: r\napproved_by: p\nexpires: {expires}\n")
        )  # fmt: skip
    return found


def git(root: Path, *arguments: str) -> None:
    """Run Git as nobody in particular."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)


class Law:
    """A naive reading of the law: check a checkout of the base by itself, and look every finding up."""

    def __init__(self, then: Path, now: Path) -> None:
        self.alone = check(cwd=now, today=TODAY)
        self.had = check(cwd=then, today=TODAY)
        self._values = values_of(then), values_of(now)
        repository = opened(now)
        self._policies = {
            one.id: one for one in load_policies(load_catalogue(), repository.policies).in_force
        }

    def is_of_document(self, finding: Finding) -> bool:
        """Whether no policy made it, so that it is known by its words."""
        return finding.rule not in self._policies and not is_failure(finding)

    def standing_words(self) -> Counter[tuple[object, ...]]:
        """How often which words stand: in the same file, or as a tenant's, or from a file that is gone to a new one."""
        had, has = (
            Counter(
                (words(one), "" if one.tenant else one.primary and one.primary.file)
                for one in report.findings
                if self.is_of_document(one)
            )
            for report in (self.had, self.alone)
        )
        files_then, files_now = (set(report.names) for report in (self.had, self.alone))
        found = Counter[tuple[object, ...]]()
        for (said, _), times in (had & has).items():
            found[said] += times
        gone, fresh = (
            sum(
                (
                    Counter({said: times})
                    for (said, file), times in left.items()
                    if file not in files
                ),
                Counter[tuple[object, ...]](),
            )
            for left, files in ((had - has, files_now), (has - had, files_then))
        )
        return found + (gone & fresh)

    def is_standing(self, finding: Finding) -> bool:
        """Whether the base had what a policy found, and no waiver for it that is gone now."""
        return any(
            self._is_same(finding, one)
            for one in self.had.findings
            if one.waived_by is None or finding.waived_by is not None
        )

    def _is_same(self, finding: Finding, one: Finding) -> bool:
        if place(one) != place(finding) or one.severity.rank > finding.severity.rank:
            return False
        rule = finding.message.partition(":")[0] if is_failure(finding) else finding.rule
        policy, (then, now) = self._policies[rule], self._values
        reads = list(VALUES)[:-1] if policy.reads_all else [*policy.reads, finding.field_path]
        tenant = str(finding.tenant)
        return all(then[tenant].get(str(name)) == now[tenant].get(str(name)) for name in reads)


def is_failure(finding: Finding) -> bool:
    """Whether a policy could not be asked of a tenant."""
    return finding.rule == "policy-error" and finding.tenant is not None


def place(finding: Finding) -> tuple[object, ...]:
    failed = finding.message if is_failure(finding) else ""
    return finding.rule, finding.tenant, finding.field_path, failed


def words(finding: Finding) -> tuple[object, ...]:
    return finding.rule, finding.tenant, finding.field_path, finding.message, repr(finding.value)


def opened(root: Path) -> Repository:
    """The documents of a folder."""
    return open_repository(["."], catalogue=None, cwd=root, stdin=bytes)


def values_of(root: Path) -> dict[str, Mapping[str, KnobValue]]:
    """By tenant, what is in force."""
    repository = opened(root)
    return {tenant.name: repository.effective(tenant).values for tenant in repository.tenants}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder for a checkout of the base, and a Git repository."""
    then, now = tmp_path_factory.mktemp("then"), tmp_path_factory.mktemp("now")
    git(now, "init", "-q")
    return then, now


def committed(state: State, layout: Layout, folders: tuple[Path, Path]) -> None:
    """Make a state the base: checked out in the one folder, at HEAD of the other."""
    for folder in folders:
        written(state, layout, folder)
    git(folders[1], "add", "-A")
    git(folders[1], "commit", "-qm", "x", "--allow-empty")


@pytest.mark.parametrize("examples", [15, pytest.param(200, marks=pytest.mark.slow)])
def test_a_finding_is_new_iff_the_base_did_not_have_it(
    folders: tuple[Path, Path], examples: int
) -> None:
    """Whatever a branch edits, adds, takes away, renames and moves, and in whichever kind of document."""

    @given(st.data())
    @settings(max_examples=examples)
    def law(data: st.DataObject) -> None:
        the_law_holds(folders, data)

    law()


def the_law_holds(folders: tuple[Path, Path], data: st.DataObject) -> None:
    """For one base and one branch."""
    then, now = folders
    state, layout = data.draw(STATES), data.draw(LAYOUTS)
    committed(state, layout, folders)
    written(data.draw(edits(state)), data.draw(LAYOUTS), now)

    report = check(cwd=now, today=TODAY, base="HEAD")

    law = Law(then, now)
    for finding in report.findings:
        if finding.rule in ABOUT_CHANGE:
            assert not finding.standing
        elif not law.is_of_document(finding):
            assert finding.standing is law.is_standing(finding), finding
    standing = [one for one in report.findings if one.standing and law.is_of_document(one)]
    assert Counter(map(words, standing)) == law.standing_words()
    told, alone = (
        Counter(
            (words(one), one.severity, one.waived_by, one.primary)
            for one in one_report.findings
            if one.rule not in ABOUT_CHANGE and one.severity is not Severity.INFO
        )
        for one_report in (report, law.alone)
    )
    assert told == alone


@pytest.mark.parametrize("examples", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_an_untouched_repository_never_fails(folders: tuple[Path, Path], examples: int) -> None:
    """Against its own HEAD, and where files are renamed and lines moved, nothing is new."""

    @given(STATES, LAYOUTS, LAYOUTS)
    @settings(max_examples=examples)
    def law(state: State, layout: Layout, other: Layout) -> None:
        committed(state, layout, folders)
        for arrangement in (layout, other):
            written(state, arrangement, folders[1])
            report = check(cwd=folders[1], today=TODAY, base="HEAD")
            assert [one for one in report.findings if one.counts] == []
            assert report.exit_code(Severity.WARNING) == ExitCode.OK

    law()


INFO_WAIVER = (
    "waiver: w\nrule: redundant-default\ntenants: [acme]\nreason: r\napproved_by: p\n"
    "expires: 2099-03-31\n---\n"
)


def test_a_waiver_for_an_info_has_its_use_though_infos_speak_of_changes_only() -> None:
    """Without a base it covers one; with a base nothing is said of it, and it is not unused."""
    text = INFO_WAIVER + acme(mmr_lambda=0.7)
    assert [one.waived_by for one in checked(text).findings] == ["w"]
    for then in (text, INFO_WAIVER + acme(mmr_lambda=0.7, rrf_k=30)):
        assert "waiver-unused" not in {one.rule for one in checked(text, base=then).findings}


def test_a_policy_that_cannot_be_asked_stands_where_it_could_not_before() -> None:
    """It is a new failure of a tenant that could be asked."""
    policy = "policy: own\nseverity: warning\nwhen: knobs.rrf_k > 1.0\nmessage: m\n---\n"
    failing = [
        one
        for base in (acme(mmr_lambda=0.5), acme(rrf_k=30))
        for one in checked(policy + acme(mmr_lambda=0.5), base=policy + base).findings
        if one.rule == "policy-error"
    ]
    assert [one.standing for one in failing] == [True, False]


def test_an_info_is_asked_with_a_base_only_where_it_is_asked_without() -> None:
    """It reads a knob that the branch takes away: what is written nowhere cannot be looked at."""
    policy = "policy: own\nseverity: info\nwhen: knobs.rrf_k > 1\nmessage: m\n---\n"
    now, then = policy + acme(mmr_lambda=0.5), policy + acme(mmr_lambda=0.5, rrf_k=30)
    for report in (checked(now), checked(now, base=then)):
        assert "policy-error" not in by_rule(report)


def test_what_weighed_less_at_the_base_is_new() -> None:
    """A warning that has become an error fails the run; the other way round it stands."""
    policy = "policy: own\nseverity: {}\nwhen: 'true'\nat: rrf_k\nmessage: m\n---\n"
    light, grave = (policy.format(one) + acme(rrf_k=30) for one in ("warning", "error"))
    assert checked(grave, base=light).exit_code() == ExitCode.FINDINGS
    assert checked(light, base=grave).exit_code(Severity.WARNING) == ExitCode.OK


def test_one_fault_of_the_base_excuses_one_fault() -> None:
    """The same words a second time, in the same file, are a second fault."""
    layers = "layer: l\nknobs: {rrf_k: 0.5}\n---\nlayer: m\nknobs: {rrf_k: 30}\n---\n"
    twice = layers.replace("30", "0.5")
    found = checked(twice + acme(), base=layers + acme()).findings
    assert [one.standing for one in found if one.rule == "wrong-type"] == [False, True]


def test_a_tenant_that_another_fleet_gets_too_answers_for_itself(tmp_path: Path) -> None:
    """Production's standing fault is none of staging's; a folder that is renamed keeps its own."""
    fleets = "fleet: prod\ninclude: ['prod/**']\n---\nfleet: staging\ninclude: ['staging/**']\n"
    high = "tenant: acme\nknobs: {retrieval_min_score: 0.45}\n"
    (tmp_path / "f.yaml").write_text(fleets)
    (tmp_path / "prod").mkdir()
    (tmp_path / "prod/acme.yaml").write_text(high)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "x")
    (tmp_path / "staging").mkdir()
    (tmp_path / "staging/acme.yaml").write_text(high)

    def standing() -> dict[str, bool]:
        found = check(cwd=tmp_path, today=TODAY, base="HEAD").findings
        return {
            one.primary.file: one.standing
            for one in found
            if one.primary and one.rule == "floor-above-vector-ceiling"
        }

    assert standing() == {"prod/acme.yaml": True, "staging/acme.yaml": False}
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "x")
    (tmp_path / "prod").rename(tmp_path / "production")
    assert standing() == {"production/acme.yaml": True, "staging/acme.yaml": True}


def test_what_the_engine_holds_is_a_fact_for_both() -> None:
    """A knob that neither state writes is reset by either; one that the branch leaves out is new."""
    held = {"retrieval_vector_top_k": 32, "rrf_k": 30}
    report = checked(acme(), base=acme(rrf_k=30), live=held)
    resets = {
        one.field_path: one.standing for one in report.findings if one.rule == "reset-by-omission"
    }
    assert resets == {"retrieval_vector_top_k": True, "rrf_k": False}


def test_what_the_branch_leaves_out_is_a_reset_though_no_engine_is_asked() -> None:
    """As written at the base; what a layer writes still, or a literal 0, is none."""
    layer = "layer: l\nknobs: {mmr_lambda: 0.5}\n---\n"
    tenant = layer + "tenant: acme\nlayers: [l]\nknobs: {%s}\n"
    report = checked(
        tenant % "rrf_k: 0", base=tenant % "rrf_k: 30, gate_min_confident: 0.50, mmr_lambda: 0.6"
    )
    (reset,) = [one for one in report.findings if one.rule == "reset-by-omission"]
    assert (reset.field_path, reset.value, reset.standing) == ("gate_min_confident", 0.5, False)
    assert "gate_min_confident is 0.50 at the base and not in the file" in reset.message
