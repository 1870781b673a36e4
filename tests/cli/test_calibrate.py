"""`knobctl calibrate`: compat through the command line to the bit, what is kept and refused, and a real corpus."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knobctl.cli.calibrations import FOLDER
from knobctl.evidence.noise_floor import Measurement
from knobctl.evidence.snapshot import (
    Corpus,
    Encoder,
    Fingerprint,
    Mode,
    ProbeSet,
    Snapshot,
    Subject,
    read_snapshot,
    snapshot_path,
    write_snapshot,
)
from knobctl.evidence.vectors_file import read_vectors
from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.opening import open_services
from knobctl.server.retrieval.model import Text
from knobctl.server.retrieval.off_topic_probes import PROBES
from tests.cli.outputs import faults_of
from tests.cli.serving import serving
from tests.evidence.test_given_labels import snapshot as measurement_of
from tests.evidence.test_noise_floor import GIVEN, number, same

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.cli.inside import Inside
    from tests.running import Result

SCHEMA = "output-calibrate.v1.schema.json"
SHOW = "output-calibrate-show.v1.schema.json"
LABELS = "output-calibrate-relevance.v1.schema.json"
ENGINE = ("--engine", "embedded:w.db")
TENANT = ("--tenant", "acme", *ENGINE)
FILES = ("--vectors", "v.jsonl", "--probes", "p.jsonl")
STEPS = ("approval", "review", "payment", "shipping", "refund", "audit", "export", "retry")
EXAMPLES = Path(__file__).parents[2] / "examples" / "squad2-dev"
RULES = (
    "The {} step of a workflow stops a run until a person confirms it.",
    "Who may confirm the {} step is set per workspace by an administrator.",
    "The {} step writes an event with the actor and the reason.",
    "A timeout of the {} step sends the run back to its queue.",
)


@pytest.fixture(scope="session")
def workflows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with 32 short texts about workflows."""
    store = tmp_path_factory.mktemp("calibrate") / "w.db"
    services = open_services(f"embedded:{store}", load_catalogue(), clock=lambda: datetime.now(UTC))
    assert services.ingest is not None
    texts = [
        Text(document_id=f"{step}-{at}", text=rule.format(step))
        for step in STEPS
        for at, rule in enumerate(RULES)
    ]
    services.ingest.upsert(local_caller("test"), "acme", texts)
    services.close()
    return store


@pytest.fixture
def corpus(inside: Inside, workflows: Path) -> Inside:
    """The command beside that store."""
    shutil.copytree(workflows.parent, inside.folder, dirs_exist_ok=True)
    return inside


def write_rows(inside: Inside, name: str, rows: Iterable[Any]) -> None:
    """A file of vectors, a line each."""
    inside.write(name, "".join(f"{json.dumps(row)}\n" for row in rows))


def random_files(inside: Inside, chunks: int = 60, probes: int = 25) -> None:
    """Vectors of a corpus and of probes, in all directions."""
    chance = np.random.default_rng(1)
    write_rows(inside, "v.jsonl", chance.normal(size=(chunks, 6)).tolist())
    write_rows(inside, "p.jsonl", chance.normal(size=(probes, 6)).tolist())


def given(answer: Result) -> dict[str, Any]:
    """What was measured as the given package does."""
    assert answer.code == 0, answer.err
    assert faults_of(answer.json, SCHEMA) == []
    found: dict[str, Any] = answer.json["calibration"]["given"]
    return found


@pytest.mark.parametrize("case", GIVEN["measure"], ids=lambda case: case["name"])
def test_compat_measures_as_the_given_package_to_the_bit(
    inside: Inside, case: dict[str, Any]
) -> None:
    """Every measured case of the vectors, through files; refused where the given package refuses."""
    if case.get("embedder_fails"):
        return
    cycled = case["probe_vectors_cycled_over_8_calls"]
    rows = [
        {"id": name, "vector": [number(one) for one in row]}
        for name, row in case["rows_in_storage_order"]
    ]
    write_rows(inside, "v.jsonl", rows)
    write_rows(inside, "p.jsonl", [cycled[at % len(cycled)] for at in range(8)])
    dims = ("--dims", str(case["embedder_dims"]))
    done = inside("calibrate", *FILES, *dims, "--compat", "--format", "json")
    if case.get("N") is None:
        assert done.code == 4
        assert "dimensions" in done.err or "holds no vector" in done.err
        return
    got = given(done)
    assert same(number(got["noise_floor"]), number(case["N"]))
    for name in ("mu", "sigma"):
        ours, theirs = number(str(got[name]).replace("inity", "")), number(case[name])
        assert same(ours, theirs) or abs(ours - theirs) < 1e-12
    for name in ("pairs", "notes", "dims", "probes", "sigma_clamped", "tight"):
        assert got[name] == case[name]


def keep(inside: Inside, measured: Measurement | None, dims: int) -> None:
    """Let a compat calibration of some file of vectors be kept."""
    write_rows(inside, "v.jsonl", [[1.0] * dims])
    path = inside.folder / "v.jsonl"
    subject = Subject(vectors=str(path.resolve()))
    moment = datetime.now(UTC)
    if measured is None:
        return
    kept = Snapshot(
        mode=Mode.COMPAT,
        subject=subject,
        made_at=moment,
        made_by="knobctl",
        expires_at=moment + timedelta(days=1),
        fingerprint=Fingerprint(
            encoder=Encoder(model=None, dims=dims),
            probes=ProbeSet(number=8, digest="0" * 64),
            corpus=Corpus(chunks=1, digest=read_vectors(path).digest),
        ),
        given=measured,
    )
    write_snapshot(snapshot_path(data_folder() / FOLDER, subject, Mode.COMPAT), kept)


def data_folder() -> Path:
    """Where the command keeps what it measured."""
    import platformdirs

    return platformdirs.PlatformDirs("knobctl").user_data_path


def compat_labels(inside: Inside, *cosines: float) -> dict[str, Any]:
    """What the given package makes of cosines."""
    done = inside(
        "calibrate", "relevance", "--vectors", "v.jsonl", "--compat", "--format", "json",
        "--", *map(str, cosines),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert faults_of(done.json, LABELS) == []
    found: dict[str, Any] = done.json
    return found


@pytest.mark.parametrize(
    "row",
    [row for row in GIVEN["resolve"] if measurement_of(row)],
    ids=lambda row: row["name"],
)
def test_compat_uses_what_was_kept_as_the_given_package_does(
    inside: Inside, row: dict[str, Any]
) -> None:
    """The floor and sigma of every kept case of the vectors; vectors of other lengths alone are refused here."""
    measured = measurement_of(row)
    assert measured is not None
    keep(inside, measured, row["query_dims"])
    got = compat_labels(inside, 0.5)
    assert same(number(got["noise_floor"]), number(row["N_used"]))
    assert got["sigma"] == row["sigma_used"]


def test_compat_labels_are_the_given_ones(inside: Inside) -> None:
    """The published cosines on both corpora: tier, z to the bit, and whether the text is given out."""
    by_corpus: dict[tuple[float, float], list[dict[str, Any]]] = {}
    for row in GIVEN["published_probe"]:
        by_corpus.setdefault((row["N"], row["sigma"]), []).append(row)
    assert len(by_corpus) == 2
    for (floor, sigma), rows in by_corpus.items():
        measured = Measurement(
            noise_floor=floor, mu=0.5, sigma=sigma, pairs=780, notes=40, dims=1024, probes=8
        )
        keep(inside, measured, 1024)
        got = compat_labels(inside, *(row["cosine"] for row in rows))["labels"]
        assert [(one["z"], one["tier"]) for one in got] == [(row["z"], row["tier"]) for row in rows]
        assert [one["delivered"] for one in got] == [
            row["tier"] in {"moderate", "strong"} for row in rows
        ]


def test_compat_labels_the_gap_of_fused_scores_where_no_cosine_is_known(inside: Inside) -> None:
    """Every case of the vectors, whatever is not finite."""
    for row in (row for row in GIVEN["rank_gap_fallback"] if row["scores"]):
        scores = [word for one in row["scores"] for word in (f"--fused={number(one)}",)]
        done = inside("calibrate", "relevance", "--compat", *scores, "--format", "json")
        assert faults_of(done.json, LABELS) == []
        assert (done.json["labels"][0]["tier"] or "") == row["tier"], row
    told = inside("calibrate", "relevance", "--compat", "--fused", "0.5", "--fused", "0.5")
    assert told.out.startswith("no_match: the gap between the two best fused scores")
    assert inside("calibrate", "relevance", "--compat", "--fused", "1").out.startswith("no label")


def test_a_measurement_is_kept_and_used_again(inside: Inside) -> None:
    """Until it is forced, or anything that it depends on changes; for its owner alone."""
    random_files(inside)
    first = inside("calibrate", *FILES, "--format", "json")
    assert first.code == 0, first.err
    assert faults_of(first.json, SCHEMA) == []
    assert first.json["anew"] is True
    path = data_folder() / FOLDER
    (file,) = path.glob("*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert str(file) == first.json["calibration"]["snapshot"]
    again = inside("calibrate", *FILES, "--format", "json")
    assert again.json == first.json | {"anew": False}
    assert "--force measures anew" in inside("calibrate", *FILES).out
    for more in (("--force",), ("--alpha", "0.1"), ("--seed", "3"), ("--on-topic", "p.jsonl")):
        assert inside("calibrate", *FILES, *more, "--format", "json").json["anew"] is True
    random_files(inside, probes=26)
    assert inside("calibrate", *FILES, "--format", "json").json["anew"] is True
    file.write_text("{")
    assert inside("calibrate", *FILES, "--format", "json").json["anew"] is True


def test_arrays_give_what_lines_give(inside: Inside) -> None:
    """The same numbers in .npy."""
    random_files(inside)
    lines = inside("calibrate", *FILES, "--format", "json").json["calibration"]
    for name in ("v", "p"):
        np.save(
            inside.folder / f"{name}.npy", read_vectors(inside.folder / f"{name}.jsonl").matrix()
        )
    arrays = inside("calibrate", "--vectors", "v.npy", "--probes", "p.npy", "--format", "json").json
    assert arrays["calibration"]["measured"] == lines["measured"]
    assert arrays["calibration"]["corpus"] == lines["corpus"]


def relevance(inside: Inside, *words: str) -> Result:
    """Label cosines of the file of vectors."""
    return inside("calibrate", "relevance", *words, "--vectors", "v.jsonl")


def test_cosines_get_tiers_p_and_z(inside: Inside) -> None:
    """At the floor is no match; negative numbers are no options; what is no cosine has no label."""
    random_files(inside)
    measured = inside("calibrate", *FILES, "--format", "json").json["calibration"]["measured"]
    floor = measured["noise_floor"]["value"]
    done = relevance(inside, repr(floor), "-0.05", "0.9999", "nan", "1.5", "--format", "json")
    assert done.code == 0, done.err
    assert faults_of(done.json, LABELS) == []
    labels = done.json["labels"]
    assert [one["tier"] for one in labels[:2]] == ["no_match", "no_match"]
    assert labels[2]["tier"] in {"weak", "moderate", "strong"}
    assert [one["tier"] for one in labels[3:]] == ["not_measurable"] * 2
    assert labels[1]["p_value"] == 1
    assert labels[2]["p_value"] == pytest.approx(1 / 26)
    text = relevance(inside, "0.9999").out
    assert "PROVISIONAL" in text
    assert "z (given package)" in text
    few = relevance(inside, "0.9999", "--alpha", "0.01")
    assert (
        "not measurable: 25 probes of different maxima; a share of 0.01 takes 99: 74 more"
        in " ".join(few.out.split())
    )
    assert "not_measurable" in few.out


def test_a_small_corpus_gets_no_label_and_no_evidence(corpus: Inside) -> None:
    """Few probes, and a fault that says how many are missing; the measurement itself is no failure."""
    corpus.write("few.txt", "what is for lunch\nhow far is the moon\n\nwhat is for lunch\n")
    done = corpus("calibrate", *TENANT, "--probes", "few.txt")
    assert done.code == 0, done.err
    words = " ".join(done.out.split())
    assert "not measurable 2 probes of different maxima; a share of 0.05 takes 19: 17 more" in words
    assert "1 probe that stand there twice count once" in done.err
    refused = corpus("calibrate", *TENANT, "--probes", "few.txt", "--output", "e.json")
    assert refused.code == 6
    assert not (corpus.folder / "e.json").exists()


def test_what_does_not_hold_any_more_is_refused_and_drift_is_told(inside: Inside) -> None:
    """Another embedder, other probes, an expired one: exit 6 and the command that measures anew; a changed corpus is told of."""
    random_files(inside)
    assert inside("calibrate", *FILES, "--encoder", "one").code == 0
    other = relevance(inside, "0.5", "--encoder", "two")
    assert other.code == 6
    assert "the embedder was one and is two" in " ".join(other.err.split())
    assert "knobctl calibrate --vectors v.jsonl --probes FILE" in other.err
    write_rows(inside, "q.jsonl", [[1, 0, 0, 0, 0, 0]])
    probes = relevance(inside, "0.5", "--probes", "q.jsonl")
    assert probes.code == 6
    assert "the probes are others" in probes.err
    random_files(inside, chunks=70)
    drifted = relevance(inside, "0.5", "--format", "json")
    assert drifted.code == 0
    assert drifted.json["drift"] == "the corpus has 70 chunks, it had 60 when it was measured (17%)"
    assert "it had 60 when it was measured" in " ".join(drifted.err.split())
    shown = inside(
        "calibrate", "show", "--vectors", "v.jsonl", "--encoder", "two", "--format", "json"
    )
    assert faults_of(shown.json, SHOW) == []
    (one,) = shown.json["calibrations"]
    assert one["mismatches"] == ["the embedder was one and is two"]
    assert one["drift"] == drifted.json["drift"]
    write_rows(inside, "v.jsonl", [[1.0] * 7])
    assert "dimensions was 6 and is 7" in relevance(inside, "0.5").err
    (file,) = (data_folder() / FOLDER).glob("*.json")
    kept = read_snapshot(file)
    assert kept is not None
    random_files(inside)
    write_snapshot(file, replace(kept, expires_at=datetime(2026, 1, 2, tzinfo=UTC)))
    expired = relevance(inside, "0.5")
    assert expired.code == 6
    assert "expired on 2026-01-02" in expired.err
    assert (
        inside("calibrate", "show", "--format", "json").json["calibrations"][0]["expired"] is True
    )
    assert inside("calibrate", *FILES, "--encoder", "one", "--format", "json").json["anew"] is True


def test_options_that_do_not_go_together_are_refused(inside: Inside) -> None:
    """With what is missing or too much; before anything is asked."""
    random_files(inside)
    for words, said in (
        ((), "name one corpus"),
        (("--tenant", "acme", *FILES), "name one corpus"),
        (("--vectors", "v.jsonl"), "--vectors FILE needs --probes FILE"),
        ((*FILES, "--compat", "--alpha", "0.1"), "--compat knows neither"),
        ((*FILES, "--output", "e.json"), "of a tenant"),
        ((*FILES, "--alpha", "1"), "between 0 and 1"),
        (("--force", "show"), "--force stands before show"),
        (("--tenant", "acme", "relevance", "0.5"), "--tenant stands before relevance"),
        (("relevance", "0.5", "--vectors", "v.jsonl"), "no calibration is kept of"),
        (("relevance", "--vectors", "v.jsonl"), "name a COSINE or several"),
        (("relevance", "0.5", "--fused", "1", "--compat"), "name a COSINE or several"),
        (("relevance", "--fused", "1"), "name a COSINE or several"),
        (("relevance", "x", "--vectors", "v.jsonl"), "not a valid float"),
        (("show", "--vectors", "v.jsonl"), "no calibration is kept of"),
    ):
        done = inside("calibrate", *words)
        assert (done.code, said in " ".join(done.err.split())) == (2, True), (words, done.err)
    assert inside("calibrate", "show").out.startswith("no calibration is kept")


def test_probes_without_a_direction_are_refused(inside: Inside) -> None:
    """They stand for no question; in compat mode they count 0, as the given package has it."""
    random_files(inside)
    write_rows(inside, "p.jsonl", [[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]])
    done = inside("calibrate", *FILES)
    assert done.code == 4
    assert "the vector 2 is all zeros, or not finite" in done.err
    assert inside("calibrate", *FILES, "--compat").code == 0


def test_a_tenants_corpus_is_measured_where_its_vectors_are(corpus: Inside) -> None:
    """The shipped probes, mu and sigma, questions on topic; nothing of a probe's text anywhere; evidence that checks read."""
    corpus.write("on.txt", "who confirms the payment step\nwhen does the audit step time out\n")
    done = corpus(
        "calibrate", *TENANT, "--on-topic", "on.txt", "--output", "e.json", "--format", "json"
    )
    assert done.code == 0, done.err
    assert faults_of(done.json, SCHEMA) == []
    found = done.json["calibration"]
    assert found["probes"]["number"] == len(PROBES)
    assert found["encoder"]["model"] == "all-MiniLM-L6-v2"
    measured = found["measured"]
    assert measured["measurable"] is True
    assert measured["mu"]["value"] > measured["noise_floor"]["value"]  # all of it is of one kind
    assert measured["on_topic"]["at_or_under"]["denominator"] == 2
    assert measured["on_topic"]["auc"] == 1
    (kept,) = (data_folder() / FOLDER).glob("*.json")
    record = json.loads((corpus.folder / "e.json").read_bytes())
    assert faults_of(record, "evidence.v1.schema.json") == []
    assert record["kind"] == "calibration"
    assert record["figures"]["noise_floor"]["value"] == measured["noise_floor"]["value"]
    text = corpus("calibrate", *TENANT, "--on-topic", "on.txt").out
    for told in (kept.read_text(), json.dumps(record), done.out, text):
        assert not [probe for probe in (*PROBES, "confirms") if probe in told]
    assert "2 of" not in text.partition("on topic")[0]
    labels = corpus("calibrate", "relevance", "0.1", "0.7", *TENANT, "--format", "json").json
    assert [one["tier"] for one in labels["labels"]] == ["no_match", "strong"]


def test_compat_on_a_store_is_the_given_measurement(corpus: Inside) -> None:
    """With the eight given probes; without a measurement its labels come of what it ships by the length of vectors."""
    shipped = corpus("calibrate", "relevance", "0.5", *TENANT, "--compat")
    assert "nothing that is trusted was measured" in " ".join(shipped.out.split())
    got = given(corpus("calibrate", *TENANT, "--compat", "--format", "json"))
    assert (got["notes"], got["pairs"], got["probes"]) == (32, 496, 8)
    assert 0 < got["noise_floor"] < 0.5
    assert "text" in corpus("calibrate", "relevance", "0.5", *TENANT, "--compat").out


def test_an_engine_elsewhere_tells_the_same_maxima(corpus: Inside) -> None:
    """Through Evaluate, with nothing written; mu and sigma need the vectors and it says so, as does compat."""
    own = corpus("calibrate", *TENANT, "--format", "json").json["calibration"]["measured"]
    token = corpus(
        "engine", "token", "--subject", "ci", "--clearance", "L4", "--tenant", "acme", "--store", "embedded:w.db",
    ).out.strip()  # fmt: skip
    (corpus.folder / "token").write_text(token)
    (corpus.folder / "token").chmod(0o600)
    with serving(corpus.folder, "--store", "embedded:w.db") as (_, address):
        there = ("--tenant", "acme", "--engine", address, "--token-file", "token")
        done = corpus("calibrate", *there, "--format", "json")
        assert done.code == 0, done.err
        assert faults_of(done.json, SCHEMA) == []
        told = done.json["calibration"]["measured"]
        text = corpus("calibrate", *there)
        compat = corpus("calibrate", *there, "--compat")
    assert told["maxima"]["values"] == pytest.approx(own["maxima"]["values"], abs=1e-5)
    assert told["noise_floor"]["value"] == pytest.approx(own["noise_floor"]["value"], abs=1e-5)
    assert (told["hub"]["chunk"], told["hub"]["probes"]) == (
        own["hub"]["chunk"],
        own["hub"]["probes"],
    )
    assert told["mu"] is told["sigma"] is told["pairs"] is None
    assert "needs the vectors" in " ".join(text.out.split())
    assert compat.code == 6
    assert "does not give its vectors" in " ".join(compat.err.split())
    events = corpus("history", "acme", "--format", "json", *ENGINE).json["events"]
    assert events == []


def test_a_tenant_without_text_is_told(corpus: Inside) -> None:
    """There is nothing to measure."""
    done = corpus("calibrate", "--tenant", "nobody", *ENGINE)
    assert done.code == 4
    assert "nothing to measure" in done.err


def test_names_from_files_drive_no_terminal(inside: Inside) -> None:
    """Ids of chunks come from outside."""
    chance = np.random.default_rng(1)
    rows = [
        {"id": f"\x1b[2J{at}\n::error::", "vector": row}
        for at, row in enumerate(chance.normal(size=(40, 6)).tolist())
    ]
    write_rows(inside, "v.jsonl", rows)
    write_rows(inside, "p.jsonl", chance.normal(size=(25, 6)).tolist())
    out = inside("calibrate", *FILES).out
    assert "\x1b" not in out
    assert not [line for line in out.splitlines() if line.startswith("::")]


def json_lines(name: str) -> list[dict[str, Any]]:
    """A file of the judged corpus."""
    return [json.loads(line) for line in (EXAMPLES / name).read_text().splitlines()]


@pytest.mark.slow
def test_the_judged_corpus_has_the_noise_floor_that_was_measured_elsewhere(inside: Inside) -> None:
    """With the eight given probes N 0.348, mu 0.031, sigma 0.108; with ours a floor that few answerable questions are under."""
    rows = json_lines("docs.jsonl")
    texts = [Text(document_id=row["id"], text=row["text"]) for row in rows if not row["held_out"]]
    services = open_services(
        f"embedded:{inside.folder / 'w.db'}", load_catalogue(), clock=lambda: datetime.now(UTC)
    )
    assert services.ingest is not None
    for at in range(0, len(texts), 200):
        services.ingest.upsert(local_caller("test"), "acme", texts[at : at + 200])
    services.close()
    got = given(inside("calibrate", *TENANT, "--compat", "--format", "json"))
    assert got["noise_floor"] == pytest.approx(0.348, abs=0.002)
    assert got["mu"] == pytest.approx(0.031, abs=0.002)
    assert got["sigma"] == pytest.approx(0.108, abs=0.002)
    asked = json_lines("queries.jsonl")
    answerable = {row["text"].strip() for row in asked if row["kind"] == "answerable"}
    inside.write("on.txt", "\n".join(sorted(answerable)))
    done = inside("calibrate", *TENANT, "--on-topic", "on.txt", "--format", "json")
    measured = done.json["calibration"]["measured"]
    assert measured["noise_floor"]["value"] == pytest.approx(0.392, abs=0.002)
    assert measured["on_topic"]["at_or_under"]["value"] == pytest.approx(0.058, abs=0.004)
    assert measured["on_topic"]["auc"] > 0.97
