"""A branch that changes what judges it: a real Git repository, the real command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.outputs import faults_of
from tests.cli.test_pull_request import Repo
from tests.knobs.foreign import write_foreign_schema

if TYPE_CHECKING:
    from tests.cli.inside import Inside

POLICY = "policy: {name}\nseverity: {severity}\nwhen: effective.rrf_k {when}\nmessage: m\nexamples: {{pass: [], fail: []}}\n"
WAIVER = "waiver: w\nrule: floor-above-vector-ceiling\ntenants: [{tenants}]\nup_to: {up_to}\nreason: {reason}\napproved_by: a\nexpires: {expires}\n"
FLEET = """fleet: prod
limits: {{max_tenants: {tenants}, max_share: {share}, largest_step: {{rrf_k: 10}}}}
protected: [{protected}]
freeze: [{{name: holidays, from: "2098-12-20T00:00:00Z", to: "{until}"}}]
evidence: {{required_for: [retrieval_min_score], max_age_days: {age}, min_questions: {questions}}}
reason_required: {reason}
"""
W = {"tenants": "acme", "up_to": 0.4, "reason": "r", "expires": "2098-01-01"}
F = {
    "tenants": 50,
    "share": "9%",
    "protected": "acme",
    "until": "2099-01-02T00:00:00Z",
    "age": 14,
    "questions": 300,
    "reason": "true",
}
TENANT = "tenant: acme\nknobs:\n  retrieval_min_score: 0.36\n"
TOML = "[severity.gate-order]\nseverity = '{}'\nreason = '{}'\n"


@pytest.fixture
def repo(inside: Inside) -> Repo:
    """A tenant, a policy, a waiver of it, a fleet and a severity of its own; the branch is checked out."""
    made = Repo(inside)
    inside.write("knobctl.toml", TOML.format("error", "r"))
    made.commit(
        tenants__acme=TENANT,
        policies__cap=POLICY.format(name="cap", severity="error", when="> 900"),
        waivers__w=WAIVER.format(**W),
        fleet=FLEET.format(**F),
    )
    made.git("checkout", "-qb", "pr")
    return made


def told(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What is said of each changed rule, its place left aside."""
    return [
        (
            one["ruling"],
            one["name"],
            one["op"],
            *((field["field"], field["before"], field["after"]) for field in one["fields"]),
        )
        for one in answer["rules_changed"]
    ]


def test_a_branch_that_changes_no_rule_says_so(repo: Repo) -> None:
    """Of tenants alone: an empty list with a base, none without, and no block in text."""
    repo.commit(tenants__acme=TENANT.replace("0.36", "0.35"))
    assert repo.check("--base", "main")["rules_changed"] == []
    assert "rules_changed" not in repo.check()
    assert "the rules change" not in repo.knobctl("check", "--base", "main").out


def test_each_rule_that_the_branch_changes_is_named_with_its_place(repo: Repo) -> None:
    """Policies that came, went and changed, a severity, a waiver that widens and a fleet that loosens."""
    repo.git("rm", "-q", "policies/cap.yaml")
    repo.knobctl.write("knobctl.toml", TOML.format("info", "r"))
    repo.commit(
        policies__new=POLICY.format(name="new", severity="info", when="> 9"),
        waivers__w=WAIVER.format(**W | {"tenants": "acme, bolt", "expires": "2099-01-01"}),
        fleet=FLEET.format(**F | {"tenants": 60, "protected": "bolt"}),
    )
    answer = repo.check("--base", "main")
    assert told(answer) == [
        ("severity", "gate-order", "changed", ("severity", "error", "info")),
        ("policy", "cap", "gone", ("severity", "error", None)),
        ("policy", "new", "added", ("severity", None, "info")),
        ("waiver", "w", "changed", ("tenants", None, "bolt"), ("expires", "2098-01-01", "2099-01-01")),
        ("fleet", "prod", "changed", ("limits.max_tenants", "50", "60"), ("protected", "acme", "bolt")),
    ]  # fmt: skip
    assert [(one["file"], one["line"]) for one in answer["rules_changed"]] == [
        ("knobctl.toml", 1),
        ("main:policies/cap.yaml", 1),
        ("policies/new.yaml", 1),
        ("waivers/w.yaml", 3),
        ("fleet.yaml", 2),
    ]
    assert repo.knobctl("check", "--base", "main").out.split("\n\n")[-2].splitlines()[1:] == [
        "  knobctl.toml:1  the severity of gate-order: error -> info",
        "  main:policies/cap.yaml:1  policy cap is gone (severity error)",
        "  policies/new.yaml:1  policy new is new (severity info)",
        "  waivers/w.yaml:3  waiver w: tenants + bolt, expires 2098-01-01 -> 2099-01-01",
        "  fleet.yaml:2  fleet prod: limits.max_tenants 50 -> 60, protected acme -> bolt",
    ]


@pytest.mark.parametrize(
    ("waiver", "fleet"),
    [
        ({"expires": "2097-01-01"}, {"tenants": 40}),
        ({"up_to": 0.39}, {"share": "8.5%"}),
        ({"reason": "another"}, {"protected": "acme, bolt"}),
        ({}, {"age": 7, "questions": 400}),
    ],
)  # fmt: skip
def test_what_only_became_tighter_is_not_told(
    repo: Repo, waiver: dict[str, object], fleet: dict[str, object]
) -> None:
    """A sooner day, a lower bound, fewer tenants of a run, more protected ones, younger evidence."""
    repo.commit(waivers__w=WAIVER.format(**W | waiver), fleet=FLEET.format(**F | fleet))
    assert repo.check("--base", "main")["rules_changed"] == []


@pytest.mark.parametrize(
    ("waiver", "fleet", "expected"),
    [
        ({"up_to": 0.41}, {}, ("up_to", "0.4", "0.41")),
        ({"up_to": "0.40000000000000000001"}, {}, ("up_to", "0.4", "0.40000000000000000001")),
        ({"tenants": "bolt"}, {}, ("tenants", "acme", "bolt")),
        ({}, {"share": "10%"}, ("limits.max_share", "9%", "10%")),
        ({}, {"age": 15}, ("evidence.max_age_days", "14", "15")),
        ({}, {"questions": 299}, ("evidence.min_questions", "300", "299")),
        ({}, {"reason": "false"}, ("reason_required", "true", "false")),
        (
            {},
            {"until": "2098-12-21T00:00:00Z"},
            ("freeze.holidays.to", F["until"], "2098-12-21T00:00:00Z"),
        ),
        ({}, {"protected": ""}, ("protected", "acme", None)),
    ],
)
def test_what_lets_more_pass_is_told(
    repo: Repo, waiver: dict[str, object], fleet: dict[str, object], expected: tuple[str, ...]
) -> None:
    """Each bound by itself, as exactly as it is written."""
    repo.commit(waivers__w=WAIVER.format(**W | waiver), fleet=FLEET.format(**F | fleet))
    (change,) = told(repo.check("--base", "main"))
    assert change[2:] == ("changed", expected)


def test_a_fleet_without_its_limits_and_evidence_says_which_went(repo: Repo) -> None:
    """By field; the whole document is not written out."""
    repo.commit(fleet="fleet: prod\n")
    (change,) = told(repo.check("--base", "main"))
    assert {field[0] for field in change[3:]} >= {
        "limits.max_tenants",
        "limits.largest_step.rrf_k",
        "protected",
        "evidence.required_for",
        "reason_required",
    }
    assert "and " in repo.knobctl("check", "--base", "main").out.split("fleet prod")[1]


def test_a_changed_condition_is_named_and_a_long_one_not_written_out(repo: Repo) -> None:
    """A short condition with both sides; of a long one the field alone. Words and examples decide nothing."""
    short = POLICY.format(name="cap", severity="error", when="> 901")
    repo.commit(policies__cap=short.replace("message: m", "message: n"))
    out = " ".join(repo.knobctl("check", "--base", "main").out.split())
    assert "policy cap: when effective.rrf_k > 900 -> effective.rrf_k > 901" in out
    repo.commit(
        policies__cap=POLICY.format(name="cap", severity="error", when="> 901" + " + 0" * 9)
    )
    assert (
        "\n  policies/cap.yaml:3  policy cap: when\n" in repo.knobctl("check", "--base", "main").out
    )


def test_a_moved_rule_is_no_other_one(repo: Repo) -> None:
    """A renamed file, comments and another order of keys change nothing of what judges."""
    repo.git("mv", "waivers/w.yaml", "w.yaml")
    lines = POLICY.format(name="cap", severity="error", when="> 900").splitlines()
    repo.commit(policies__cap="# why\n" + "\n".join(reversed(lines)) + "\n")
    assert repo.check("--base", "main")["rules_changed"] == []


def test_a_schema_and_what_is_passed_over_judge_too(repo: Repo) -> None:
    """Another range of a knob in the repository's own schema, in its file; a skipped folder of rules."""
    repo.git("checkout", "-q", "main")
    schema = write_foreign_schema(repo.folder)
    repo.knobctl.write("knobctl.toml", f"schema = '{schema.name}'\n")
    repo.git("rm", "-qr", "policies", "fleet.yaml", "waivers")
    repo.commit(tenants__acme="tenant: acme\nknobs: {}\n")
    repo.git("checkout", "-qB", "pr")
    document = json.loads(schema.read_bytes())
    knob, *_, kept = document["properties"]
    document["properties"][knob]["maximum"] = 12345
    document["properties"][knob]["x-knob"]["default"] = 0.5
    document["properties"][kept]["description"] = "other words"
    schema.write_text(json.dumps(document))
    repo.knobctl.write("knobctl.toml", f"schema = '{schema.name}'\nskip = ['policies']\n")
    repo.commit()
    answer = repo.check("--base", "main")
    (first, second) = told(answer)
    assert first[:3] == ("schema", schema.name, "changed")
    assert first[3:] == (
        (f"{knob}.maximum", "1", "12345"),
        (f"{knob}.x-knob.default", "0.4", "0.5"),
    )
    assert second == ("setting", "skip", "changed", ("skip", None, "policies"))
    assert {one["file"] for one in answer["rules_changed"]} == {schema.name, "knobctl.toml"}


def test_places_are_seen_from_the_working_folder(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From inside the repository the settings lie above."""
    repo.knobctl.write("knobctl.toml", TOML.format("warning", "r"))
    repo.commit()
    monkeypatch.chdir(repo.folder / "tenants")
    (change,) = repo.check("--base", "main")["rules_changed"]
    assert (change["file"], change["line"]) == ("../knobctl.toml", 1)


def test_it_fails_nothing_and_a_reason_alone_is_no_change(repo: Repo) -> None:
    """The exit code is that of the findings; another reason of the same severity is no other rule."""
    repo.knobctl.write("knobctl.toml", TOML.format("error", "another"))
    repo.commit(policies__new=POLICY.format(name="new", severity="error", when="> 999"))
    answer = repo.check("--base", "main", "--fail-on", "warning")
    assert answer["exit_code"] == 0
    assert [one[:3] for one in told(answer)] == [("policy", "new", "added")]


def test_the_formats_of_code_hosts_show_it(repo: Repo) -> None:
    """One notice ahead of the others, a block at the top of the comment; reports of findings are as before."""
    before = {
        name: repo.knobctl("check", "--base", "HEAD", "--format", name).out
        for name in ("junit", "gitlab")
    }
    repo.commit(fleet=FLEET.format(**F | {"tenants": 60}))
    shown = {
        name: repo.knobctl("check", "--base", "main", "--format", name).out
        for name in ("github", "markdown", "junit", "gitlab")
    }
    (notice,) = [one for one in shown["github"].splitlines() if "the rules change" in one]
    assert notice.startswith("::notice title=the rules change%2C and ")
    assert notice.endswith("::fleet.yaml:2  fleet prod: limits.max_tenants 50 -> 60")
    assert shown["github"].splitlines()[0] == notice
    head = shown["markdown"].split("\n\n")
    assert head[2].startswith("**The rules change, ")
    assert head[3] == "- `fleet.yaml:2`: fleet prod: `limits.max_tenants` 50 -&gt; 60"
    assert {name: shown[name] for name in before} == before


def test_hostile_names_are_shown_as_they_are_and_many_are_counted(repo: Repo) -> None:
    """No line begins a command or markup of its own; of three hundred waivers twenty are told, in JSON all."""
    evil = 'waiver: "a\\n::error::y <b>|`\\e[31m"\nrule: r\ntenants: [a]\nreason: r\napproved_by: a\nexpires: 2098-01-01\n'
    many = [WAIVER.format(**W).replace("waiver: w", f"waiver: w{number}") for number in range(300)]
    repo.commit(waivers__evil=evil, waivers__many="---\n".join(many))
    for name in ("text", "github", "markdown"):
        out = repo.knobctl("check", "--base", "main", "--format", name).out
        assert "and 281 more; --format json has all" in out
        assert not [line for line in out.splitlines() if line.startswith("::error::y")]
        assert "\x1b" not in out
    comment = repo.knobctl("check", "--base", "main", "--format", "markdown").out
    bullets = comment.split("review these first:**\n\n")[1].split("\n\n")[0].splitlines()
    assert r"waiver a `\x3a:error::y` ``<b>|`\x1b[31m`` is new" in bullets[0]
    assert len(bullets) == 21
    answer = repo.check("--base", "main")
    assert len(answer["rules_changed"]) == 301
    assert faults_of(answer, "output-findings.v1.schema.json") == []


def test_documents_that_no_schema_accepts_are_compared_too(repo: Repo) -> None:
    """Whatever stands in a field, in both states: an answer that its schema accepts, and no traceback."""
    odd = [
        "fleet: prod\nlimits: [1, {a: .nan}]\nprotected: {x: [y]}\nfreeze: [{name: 1}, 2]\n",
        "fleet: prod\nlimits: {max_tenants: .inf, max_share: 1e999%}\nprotected: a\nfreeze: {}\n",
        "fleet: [prod]\nlimits: null\n",
        "waiver: w\nexpires: 5\nup_to: 1e99999\ntenants: {a: b}\nlabels: []\n",
        "waiver: w\nexpires: [soon]\nup_to: x\ntenants: [1, 1.0, true, null]\nlabels: 3\n",
        "policy: own\nwhen: {a: 1}\nseverity: []\n",
        "policy: own\nwhen: 5\nseverity: {}\nx-a: 1\n",
    ]
    repo.git("checkout", "-q", "main")
    for before in odd:
        repo.git("checkout", "-q", "main")
        repo.commit(odd=before)
        for after in odd:
            repo.knobctl.write("odd.yaml", after)
            answer = repo.check("--base", "HEAD")
            assert (answer["rules_changed"] == []) == (before == after)
    repo.knobctl.write("odd.json", '{"policy": "a\\ud800", "when": "\\ud800", "severity": "x"}')
    for name in ("text", "json", "github", "markdown"):
        assert repo.knobctl("check", "--base", "HEAD", "--format", name).code == 4
