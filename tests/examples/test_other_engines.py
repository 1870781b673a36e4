"""The examples of engines that are not ours: what their READMEs show is what the commands say, on their scales."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from knobctl.knobs import load_catalogue
from tests.cli.inside import ENGINE
from tests.cli.outputs import faults_of

if TYPE_CHECKING:
    from tests.cli.inside import Inside
    from tests.running import Result

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
ENGINES: Final = ["opensearch-hybrid", "qdrant-hybrid"]
BLOCK: Final = re.compile(r"```console\n\$ knobctl ([^\n]*)\n(.*?)```", re.DOTALL)
FOREIGN: Final = re.compile(
    r"\b1/3\b|\b2/3\b|normalised|AssembleContext|ExpandedFloor|expansion|recency|minScore"
    r"|platform default 0\.3|means the platform default|goes back to"
)
"""What is true of the reference engine alone."""


@pytest.fixture
def example(inside: Inside, request: pytest.FixtureRequest) -> Inside:
    """The working folder of a test, with an example in it."""
    shutil.copytree(EXAMPLES / str(request.param), inside.folder, dirs_exist_ok=True)
    return inside


def said(result: Result) -> str:
    """All that a run says."""
    return result.out + result.err


@pytest.mark.parametrize("example", ENGINES, indirect=True)
def test_the_readme_shows_what_the_commands_say(example: Inside) -> None:
    """Each block is a command and its whole output."""
    shown = BLOCK.findall(example.read("README.md"))
    assert len(shown) > 5
    for command, output in shown:
        result = example(*shlex.split(command))
        assert (result.code, result.err, result.out) == (0, "", output), command


@pytest.mark.parametrize("example", ENGINES, indirect=True)
def test_every_command_works_and_speaks_of_this_engine_alone(example: Inside) -> None:
    """Nothing is said of a third, of normalisation, of a call or a knob that the engine has not."""
    schema = next((example.folder / "schema").glob("*.json"))
    catalogue = load_catalogue(schema)
    tenants = sorted(path.stem for path in (example.folder / "tenants").iterdir())
    runs = [
        ["validate"],
        ["check", "-v"],
        ["check", "--format", "markdown"],
        ["fmt", "--check"],
        ["explain"],
        ["resolve"],
        *(["explain", knob.name] for knob in catalogue),
        *(["explain", knob.name, _some_value(knob.maximum)] for knob in catalogue),
        *(["reach", "--tenant", tenant, "--floor", "0.01"] for tenant in tenants),
        ["diff", *ENGINE],
        ["impact", "--default", f"{next(iter(catalogue)).name}=0.01"],
    ]
    ours = re.compile("|".join(rf"\b{knob.name}\b" for knob in load_catalogue()))
    for arguments in runs:
        result = example(*arguments)
        assert result.code == 0, (arguments, said(result))
        for word in (FOREIGN, ours):
            found = word.search(said(result))
            assert not found or found[0] in catalogue.by_any_name, (arguments, found)


def _some_value(most: float | None) -> str:
    return "0.01" if most is not None and most <= 100 else "7"


@pytest.mark.parametrize(
    ("example", "tenant", "words"),
    [
        ("opensearch-hybrid", "manuals", "is above 3/610 (0.00492), the most that a match found"),
        ("qdrant-hybrid", "tickets", "is above 2/61 (0.0328), the best score there is"),
    ],
    indirect=["example"],
)
def test_one_tenant_shows_a_warning_to_learn_from(example: Inside, tenant: str, words: str) -> None:
    """And only that one; the file that is proposed takes it away."""
    answer = example("check", "--format", "json").json
    assert [
        (one["tenant"], one["rule"]) for one in answer["findings"] if one["severity"] == "warning"
    ] == [(tenant, "floor-above-vector-ceiling")]
    assert words in " ".join(example("check").out.split())
    shutil.copy(
        example.folder / f"proposals/{tenant}.yaml", example.folder / f"tenants/{tenant}.yaml"
    )
    assert example("check", "--format", "json").json["summary"]["warnings"] == 0


@pytest.mark.parametrize("example", ENGINES, indirect=True)
def test_the_policies_in_force_are_their_own_test(example: Inside) -> None:
    """The example's own policy passes and fails as it says, and the built-in ones still do."""
    own = [path.stem for path in (example.folder / "policies").iterdir()]
    result = example("policy", "test")
    assert result.code == 0, said(result)
    assert all(name in example("policy", "list").out for name in own)


@pytest.mark.parametrize("example", ["opensearch-hybrid"], indirect=True)
def test_a_rule_of_the_engine_stops_what_it_would_refuse(example: Inside) -> None:
    """Weights that are sent sum to 1."""
    example.write("tenants/new.yaml", "tenant: new\nknobs: {weight_match: 0.7, weight_knn: 0.7}\n")
    result = example("check", "tenants/new.yaml", "--format", "json")
    assert (result.code, result.rules) == (4, ["weights-sum-to-one"])


@pytest.mark.parametrize("example", ["opensearch-hybrid"], indirect=True)
def test_a_zero_is_a_value_from_the_file_to_the_store_and_back(example: Inside) -> None:
    """No warning, no reset: 0 is kept apart from a knob that is left out, whose default is 1."""
    assert "zero-means-default" not in example("check", "--format", "json").rules
    done = example("apply", "--yes", "--reason", "first", *ENGINE)
    assert done.code == 0, said(done)
    assert example.live("reviews")["weight_match"] == 0
    assert "weight_match" not in example.live("catalogue")
    (diff,) = example("diff", "tenants/reviews.yaml", "--format", "json", *ENGINE).json["tenants"]
    assert diff["changes"] == []
    half = ["weight_match=0.5", "weight_knn=0.5"]
    assert example("set", "reviews", *half, "--yes", "--reason", "on", *ENGINE).code == 0
    (diff,) = example("diff", "tenants/reviews.yaml", "--format", "json", *ENGINE).json["tenants"]
    change = diff["changes"][1]
    assert (change["field_path"], change["op"]) == ("weight_match", "change")
    assert (change["before"], change["after"]) == (0.5, 0)
    assert example("rollback", "reviews", "--yes", "--reason", "off again", *ENGINE).code == 0
    assert example.live("reviews")["weight_match"] == 0


@pytest.mark.parametrize("example", ["opensearch-hybrid"], indirect=True)
def test_a_knob_that_is_left_out_is_told_apart_in_a_diff(example: Inside) -> None:
    """From nothing to 0 is a set, as data with null before: 0 is not how unset is written here."""
    (diff,) = example("diff", "tenants/reviews.yaml", "--format", "json", *ENGINE).json["tenants"]
    (change,) = [one for one in diff["changes"] if one["field_path"] == "weight_match"]
    assert (change["op"], change["before"], change["after"]) == ("set", None, 0)
    assert (change["effective_before"], change["effective_after"]) == (1, 0)


@pytest.mark.parametrize("example", ENGINES, indirect=True)
def test_every_answer_fits_its_schema_and_a_plan_is_applied(example: Inside) -> None:
    """As data too, a knob that is not set is told from 0: by null."""
    for command, schema in (
        (["diff"], "output-diff"),
        (["plan"], "output-plan"),
        (["check", "--live"], "output-findings"),
        (["get"], "output-get"),
    ):
        answer = example(*command, "--format", "json", *ENGINE).json
        assert faults_of(answer, f"{schema}.v1.schema.json") == [], command
    for command, schema in (
        (["explain"], "output-explain"),
        (["resolve"], "output-resolve"),
        (["reach", "--floor", "0.01"], "output-reach"),
    ):
        answer = example(*command, "--format", "json").json
        assert faults_of(answer, f"{schema}.v1.schema.json") == [], command
    assert example("plan", "-o", "plan.json", *ENGINE).code == 0
    done = example("apply", "plan.json", "--yes", "--reason", "planned", *ENGINE)
    assert done.code == 0, said(done)
    assert "no changes" in example("diff", *ENGINE).out


@pytest.mark.parametrize("example", ["opensearch-hybrid"], indirect=True)
def test_a_new_rank_constant_moves_the_ceilings_and_is_told_as_such(example: Inside) -> None:
    """On a raw sum they do not stay; where no floor was in force before, nothing is said of it."""
    assert example("apply", "--yes", "--reason", "first", *ENGINE).code == 0
    text = example.read("tenants/catalogue.yaml").replace("0.01", "0.01\n  rank_constant: 20")
    example.write("tenants/catalogue.yaml", text)
    result = example("check", "tenants/catalogue.yaml", "--live", *ENGINE)
    assert "rank-constant-moves-depth" in result.out
    assert "the ceilings move with it" in " ".join(result.out.split())


@pytest.mark.parametrize("example", ENGINES, indirect=True)
def test_the_schema_says_everything_that_a_person_asks(example: Inside) -> None:
    """Title, description, what 0 means, range and default of every knob."""
    schema = json.loads(next((example.folder / "schema").glob("*.json")).read_bytes())
    for name, knob in schema["properties"].items():
        extra = knob["x-knob"]
        assert knob["title"], name
        assert knob["description"].endswith("."), name
        assert extra["zero"], name
        assert extra["unset"] is None, name
        assert knob["minimum"] <= extra["default"] <= knob["maximum"], name
