"""`knobctl bench judge` with language models: a local endpoint that answers as recorded replies do."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.errors import RefusedError
from knobctl.evidence.harvest.asked import question_id
from knobctl.evidence.judging.cost import Model, Overheads, Price, projected
from knobctl.evidence.judging.models import Endpoint
from knobctl.evidence.judging.prompts import answer_prompt, judge_prompt
from knobctl.evidence.judging.verdict import declines, verdict_of
from knobctl.evidence.recording import Excluded, Label
from tests.cli.outputs import faults_of
from tests.cli.test_bench_replay import ENGINE, QUESTIONS, recording_at, replay, write_set
from tests.evidence.test_sweep import GIVEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.evidence.judging.models import Reply
    from tests.cli.inside import Inside
    from tests.running import Result

KEY = "sk-test-0123456789"
PRICES = (
    '[llm.price_per_mtok]\n"answerer" = [3.0, 15.0]\n"judge" = [1.0, 5.0]\n"other" = [1.0, 5.0]\n'
)
REPLAYED: list[bytes] = []


@dataclass
class Models:
    """An OpenAI-compatible server, and what it was asked."""

    url: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    replies: dict[str, Any] = field(default_factory=dict)
    """By a word of the question, what the judge replies, or a status; the answerer's by `answer WORD`."""

    def reply(self, body: dict[str, Any]) -> tuple[int, Any]:
        """What it answers to one call."""
        self.calls.append(body)
        text = body["messages"][1]["content"]
        question = text.split("<<question ")[1]
        answering = body["model"] == "answerer"
        for word, reply in self.replies.items():
            wanted = word.removeprefix("answer ") if answering else word
            if word.startswith("answer ") == answering and wanted in question:
                return (reply, None) if isinstance(reply, int) else (200, reply)
        return 200, "It is so." if answering else "yes"


@contextmanager
def serving_models() -> Iterator[Models]:
    """Serve on a free port."""
    models = Models()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            models.keys.add(self.headers.get("Authorization", ""))
            status, content = models.reply(body)
            answer: dict[str, Any] = {"error": {"message": f"no, {KEY}"}}
            if status == 200:
                usage = {"prompt_tokens": 1_000, "completion_tokens": 10}
                answer = {"choices": [{"message": {"content": content}}], "usage": usage}
            raw = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    models.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield models
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def models() -> Iterator[Models]:
    """A server of language models."""
    with serving_models() as found:
        yield found


@pytest.fixture
def replayed(probed: Inside) -> Inside:
    """The command beside a replayed set of acme, with prices and without pauses."""
    write_set(probed.folder / "q.jsonl", QUESTIONS)
    probed.write(
        "knobctl.toml",
        f"[benchmark_relevance_floor]\ncall_retry_backoff_seconds = 0.0\ncall_retries = 1\n{PRICES}",
    )
    (probed.folder / "key").write_text(KEY)
    (probed.folder / "key").chmod(0o600)
    report = probed.folder / "r.jsonl"
    if not REPLAYED:  # the store is the same one for every test, and so are its scores
        assert replay(probed).code == 0
        REPLAYED.append(report.read_bytes())
    report.write_bytes(REPLAYED[0])
    return probed


def judge(inside: Inside, models: Models, *more: str) -> Result:
    """Judge what was replayed."""
    return inside(
        "bench", "judge", "--replay-from", "r.jsonl", "--questions", "q.jsonl",
        "--base-url", models.url, "--answer-model", "answerer", "--judge-model", "judge",
        "--key-file", "key", "--output", "j.jsonl", "--checkpoint", "paid.jsonl", *ENGINE, *more,
    )  # fmt: skip


def labels(inside: Inside) -> dict[str, Label | Excluded | None]:
    """By question, its label, or why it has none."""
    made = recording_at(inside.folder / "j.jsonl")
    found = {one.id: one.label or one.excluded for one in made.questions}
    return {text: found[question_id(text)] for text in QUESTIONS}


def test_each_question_is_answered_and_judged(replayed: Inside, models: Models) -> None:
    """Yes, no, declined without a verdict's call; counted and priced; the key goes with each call and nowhere else."""
    models.replies = {"Mondays": "no", "answer planet": "NO_RELEVANT_KNOWLEDGE"}
    done = judge(replayed, models, "--format", "json")
    assert done.code == 0, done.err
    assert faults_of(done.json, "output-bench-judge.v1.schema.json") == []
    assert [*labels(replayed).values()] == [
        Label.ANSWERABLE,
        Label.ANSWERABLE,
        Label.UNANSWERABLE,
        Label.UNANSWERABLE,
    ]
    assert (done.json["declined"], done.json["calls"]) == (1, 7)
    assert done.json["cost_usd"] == pytest.approx(4 * (0.003 + 0.00015) + 3 * (0.001 + 0.00005))
    assert models.keys == {f"Bearer {KEY}"}
    written = [
        path.read_text() for path in replayed.folder.glob("*.jsonl") if path.name != "q.jsonl"
    ]
    assert not [text for text in written if KEY in text or "Mondays" in text]
    swept = replayed("bench", "sweep", "j.jsonl", "--floor", "0", "--format", "json").json
    assert swept["judged_sweep"][0]["declined"]["numerator"] == 1
    assert [one["usd_saved"] for one in swept["refusal_curve"]] == [0]
    all_refused = replayed("bench", "sweep", "j.jsonl", "--floor", "1", "--format", "json").json
    saved = all_refused["refusal_curve"][0]
    assert (saved["calls_saved"], saved["usd_saved"]) == (4, pytest.approx(4 * 0.00315))
    assert "$0.01" in replayed("bench", "sweep", "j.jsonl", "--floor", "1").out
    assert any("no reference answer" in caveat for caveat in swept["caveats"])


def test_the_models_get_what_the_engine_finds_under_open_floors(
    replayed: Inside, models: Models
) -> None:
    """Though the tenant's floor would refuse all of it; its set is not written."""
    assert replayed("set", "acme", "retrieval_min_score=1", "--yes", *ENGINE).code == 0
    assert replay(replayed).code == 0
    before = replayed("get", "acme", "--format", "json", *ENGINE).json
    assert judge(replayed, models).code == 0
    assert replayed("get", "acme", "--format", "json", *ENGINE).json == before
    answering = [call for call in models.calls if call["model"] == "answerer"]
    assert len(answering) == len(QUESTIONS)
    assert all("<<passage 1 " in call["messages"][1]["content"] for call in answering)


def test_what_is_paid_for_is_not_paid_for_again(replayed: Inside, models: Models) -> None:
    """The second run calls nobody and gives the same labels; another judge is paid anew."""
    assert judge(replayed, models).code == 0
    first, paid = labels(replayed), len(models.calls)
    again = judge(replayed, models)
    assert (again.code, len(models.calls)) == (0, paid)
    assert labels(replayed) == first
    judge(replayed, models, "--judge-model", "other")
    assert len(models.calls) == 2 * paid


@pytest.mark.parametrize(
    ("reply", "excluded"),
    [
        ({"Mondays": "Perhaps."}, Excluded.UNPARSED),
        ({"Mondays": "yes or no"}, Excluded.UNPARSED),
        ({"Mondays": ""}, Excluded.BUDGET),
        ({"answer Mondays": None}, Excluded.BUDGET),
        ({"answer Mondays": 400}, Excluded.ANSWER_FAILED),
        ({"answer Mondays": 503}, Excluded.INFRA),
        ({"Mondays": 500}, Excluded.INFRA),
    ],
    ids=str,
)
def test_a_question_without_a_verdict_is_excluded_and_no_no(
    replayed: Inside, models: Models, reply: dict[str, Any], excluded: Excluded
) -> None:
    """By why; the others are judged, and what failed is tried again next time."""
    models.replies = reply
    done = judge(replayed, models)
    assert done.code == 0, done.err
    assert KEY not in done.out + done.err
    assert [*labels(replayed).values()] == [Label.ANSWERABLE] * 2 + [excluded, Label.ANSWERABLE]
    models.replies, paid = {}, len(models.calls)
    judge(replayed, models)
    final = excluded is Excluded.UNPARSED
    assert (len(models.calls) > paid) != final
    assert labels(replayed)[QUESTIONS[2]] is (excluded if final else Label.ANSWERABLE)


def test_an_estimate_calls_nobody(replayed: Inside, models: Models) -> None:
    """What it would cost at most, and nothing is written."""
    done = judge(replayed, models, "--estimate")
    assert done.code == 0
    assert "4 questions to judge, 8 calls" in done.err
    assert "at most $0.0" in done.err
    assert not models.calls
    assert not (replayed.folder / "j.jsonl").exists()


def test_many_calls_need_consent(replayed: Inside, models: Models) -> None:
    """Without a terminal nothing is called unless --yes."""
    replayed.write("knobctl.toml", "[benchmark_relevance_floor]\nconfirm_call_threshold = 7\n")
    done = judge(replayed, models)
    assert done.code == 6
    assert "8 calls need consent" in done.err
    assert not models.calls
    assert judge(replayed, models, "--yes").code == 0


@pytest.mark.parametrize("bound", [("--budget", "0.005"), ("--max-calls", "3")], ids=str)
def test_a_bound_ends_it_and_more_goes_on(
    replayed: Inside, models: Models, bound: tuple[str, str]
) -> None:
    """What was begun is finished, the rest is left, and another run pays for the rest alone."""
    replayed.write("knobctl.toml", f"[benchmark_relevance_floor]\nconcurrency = 1\n{PRICES}")
    done = judge(replayed, models, *bound)
    assert done.code == 9, done.err
    assert "2 questions not judged" in done.err
    paid = len(models.calls)
    assert judge(replayed, models).code == 0
    assert len(models.calls) == 2 * paid
    assert set(labels(replayed).values()) == {Label.ANSWERABLE}


def test_a_second_judge_tells_how_sure_the_first_is(replayed: Inside, models: Models) -> None:
    """Labels are the first one's; agreement is counted."""
    both = iter(["yes", "no"] * 4)
    models.replies = {"": None}
    models.reply = lambda body: (200, "So." if body["model"] == "answerer" else next(both))  # type: ignore[method-assign]
    replayed.write("knobctl.toml", "[benchmark_relevance_floor]\nconcurrency = 1\n")
    done = judge(replayed, models, "--second-judge-model", "other", "--format", "json")
    assert done.json["agreement"] == [0, 4]
    assert done.json["answerable"] == 4


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (("--labels", "q.jsonl"), 2, "choose one of the two"),
        (("--judge-model", ""), 2, "together"),
        (("--base-url", "ftp://x"), 6, "must be http(s)://"),
        (("--base-url", "http://[::1"), 6, "must be http(s)://"),
        (("--base-url", "http://models.example/v1"), 6, "unencrypted"),
        (("--budget", "1", "--judge-model", "unknown"), 2, "needs the price of unknown"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused(
    replayed: Inside, models: Models, more: tuple[str, ...], code: int, words: str
) -> None:
    """Before any call."""
    done = judge(replayed, models, *more)
    assert (done.code, words in done.err) == (code, True), done.err
    assert not models.calls


def test_another_corpus_is_not_judged_by_old_scores(replayed: Inside, models: Models) -> None:
    """Labels would speak of texts that the scores do not."""
    replayed.write("more.jsonl", '{"documentId": "new", "text": "Saturn has rings."}\n')
    loaded = replayed(
        "engine", "load", "more.jsonl", "--tenant", "acme", "--store", "embedded:e.db"
    )
    assert loaded.code == 0
    done = judge(replayed, models)
    assert done.code == 4
    assert "another state of the corpus" in done.err


@pytest.mark.parametrize("case", GIVEN["judge_verdict"], ids=lambda case: repr(case["reply"]))
def test_a_verdict_is_read_and_never_guessed(case: dict[str, Any]) -> None:
    """What the given reading takes for yes is yes; what it takes for no is no only where it says so."""
    read = verdict_of(case["reply"])
    if case["answerable"]:
        assert read is True
    elif read is True:
        assert case["reply"].strip('*`"!\n ').lower().startswith(("yes", "<verdict>yes"))
    else:
        assert read is (False if case["reply"].lower().startswith("no") else None)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("**no**", False),
        ("No - it says nothing of that.", False),
        ("incorrect", False),
        ("yes\nIt is grounded.", True),
        ("", None),
        ("yesterday", None),
        ("yes/no", None),
        ("It depends.", None),
    ],
)  # fmt: skip
def test_a_verdict_is_the_first_word(reply: str, verdict: bool | None) -> None:
    """Whatever is put around it; both at once is none."""
    assert verdict_of(reply) is verdict


@pytest.mark.parametrize("case", GIVEN["responder_marker"])
def test_declining_is_the_mark_at_the_beginning(case: dict[str, Any]) -> None:
    """And nowhere else."""
    assert declines(case["answer"]) == case["declined"]


@pytest.mark.parametrize("case", GIVEN["estimate"], ids=lambda case: case["name"])
def test_the_given_costs_come_out(case: dict[str, Any]) -> None:
    """Tokens truncated row by row, dollars only where both prices are known."""

    def model(name: str) -> Model:
        price = case[f"{name}_price_per_mtok"]
        return Model(
            name=name,
            price=Price(*price) if price else None,
            chars_per_token=case[f"{name}_chars_per_token"],
        )

    sizes = [
        (row["context_chars"], row["question_chars"])
        for row in case["rows"]
        if row["max_similarity"] is not None
    ]
    overheads = Overheads(
        answer_prompt=case["answer_overhead"],
        answer_output=case["answer_output"],
        judge_prompt=case["judge_overhead"],
        judge_output=case["judge_output"],
    )
    got, want = projected(sizes, model("answer"), (model("judge"),), overheads), case["expected"]
    assert got.questions == want["questions"]
    assert got.calls == want["answer_calls"] + want["judge_calls"]
    assert got.answer.input == want["answer_input_tokens"]
    assert got.judge.input == want["judge_input_tokens"]
    assert got.judge.output == want["judge_output_tokens"]
    assert got.cost_usd == (None if want["cost_usd"] is None else pytest.approx(want["cost_usd"]))


@given(text=st.text(max_size=80))
@settings(deadline=None, max_examples=60)
def test_what_is_judged_is_data(text: str) -> None:
    """It stands between marks that hold a word which it cannot know, and never in what the model is told."""
    nonce = "5f0c9a7de1b24c38"
    for prompt in (
        answer_prompt(text, [text], nonce),
        judge_prompt(text, [text], text, nonce),
    ):
        assert f"question {nonce}>>\n{text}\n<<end {nonce}>>" in prompt.user
        assert len(text) < 12 or text not in prompt.system


def test_a_key_does_not_travel_unencrypted() -> None:
    """Plain HTTP is for this machine."""
    with pytest.raises(RefusedError):
        Endpoint("http://models.example/v1", KEY, retries=0, backoff_s=0)


RUDE = {
    "cut off": b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{",
    "cut off in a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
    "no gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
    "no HTTP": b"hello\r\n\r\n",
    "nothing": b"",
    "HTML": b"HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n<html>no</html>\r\n",
    "401": b"HTTP/1.1 401 No\r\nContent-Length: 25\r\n\r\nno key " + KEY.encode(),
    "302": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
    "long head": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
}


@contextmanager
def answering_rudely(answer: bytes) -> Iterator[str]:
    """Serve every call the same bytes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.recv(1 << 20)
                connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.mark.parametrize("how", RUDE)
def test_a_rude_endpoint_ends_no_run(replayed: Inside, models: Models, how: str) -> None:
    """Each question is excluded, the first reason is told without the key, and nobody takes it for success."""
    with answering_rudely(RUDE[how]) as models.url:
        done = judge(replayed, models)
    assert done.code == 8, done.err
    assert "4 questions without a verdict" in done.err
    assert "sk-test" not in done.out + done.err
    assert set(labels(replayed).values()) == {Excluded.INFRA}


def answered(raw: bytes) -> Reply:
    """What one answer is read as."""
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(raw)}\r\n\r\n".encode()
    with answering_rudely(head + raw) as url:
        model = Model(name="m", price=None)
        prompt = answer_prompt("Why?", ["Because."], "n")
        return Endpoint(url, None, retries=0, backoff_s=0).complete(model, prompt, max_tokens=5)


@pytest.mark.parametrize(
    "usage",
    ["null", "[]", '{"prompt_tokens": 1e999, "completion_tokens": 1}',
     '{"prompt_tokens": -5, "completion_tokens": -5}', '{"prompt_tokens": "x"}', "{}"],
)  # fmt: skip
def test_tokens_that_nobody_states_are_reckoned(usage: str) -> None:
    """By characters: a budget would never end otherwise."""
    raw = f'{{"choices": [{{"message": {{"content": "yes"}}}}], "usage": {usage}}}'
    reply = answered(raw.encode())
    assert (reply.tokens.input > 100, reply.tokens.output) == (True, 1)


def test_an_answer_in_parts_is_read() -> None:
    """As some endpoints give it."""
    raw = b'{"choices": [{"message": {"content": [{"type": "text", "text": "yes"}]}}]}'
    assert answered(raw).text == "yes"


def test_calls_that_came_to_nothing_count_for_the_bounds(replayed: Inside, models: Models) -> None:
    """An endpoint that thinks until its room is spent is paid as well."""
    replayed.write("knobctl.toml", f"[benchmark_relevance_floor]\nconcurrency = 1\n{PRICES}")
    models.replies = {"answer ": ""}
    done = judge(replayed, models, "--budget", "0.005")
    assert len(models.calls) == 2
    assert "2 questions not judged" in done.err


def test_a_torn_checkpoint_loses_its_torn_line_alone(replayed: Inside, models: Models) -> None:
    """A run was killed in the middle of a line; what the next one pays for is kept, and what is none is none."""
    assert judge(replayed, models).code == 0
    paid = replayed.folder / "paid.jsonl"
    first, second, *_ = paid.read_text().splitlines()
    odd = json.loads(second)
    odd["outcome"] |= {"answerable": "perhaps"}
    paid.write_text(f"{first}\n{json.dumps(odd)}\n{second[:40]}")
    models.calls.clear()
    assert judge(replayed, models).code == 0
    assert len(models.calls) == 6
    assert judge(replayed, models).code == 0
    assert len(models.calls) == 6
