"""The file of named engines: strict, with places, and its comments kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knobctl.engine.contexts import Context, add_context, load_contexts, use_context
from knobctl.errors import InputError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_missing_or_empty_file_is_an_empty_book(tmp_path: Path) -> None:
    """Nobody has to make the file."""
    path = tmp_path / "contexts.yaml"
    assert load_contexts(path).contexts == {}
    path.write_text("# nothing yet\n")
    assert load_contexts(path).contexts == {}


def test_added_contexts_are_read_back_and_comments_stay(tmp_path: Path) -> None:
    """The file is the user's; it is made for the user alone."""
    path = tmp_path / "deep" / "contexts.yaml"
    add_context(
        path, "staging", Context(engine="https://s.example", token_command=["t", "{tenant}"])
    )
    path.write_text(f"# mine\n{path.read_text()}")
    add_context(path, "prod", Context(engine="https://p.example", production=True, schema="k.json"))
    book = use_context(path, "prod")

    assert book.current == "prod"
    assert book.contexts["staging"].token_command == ["t", "{tenant}"]
    assert book.contexts["prod"].schema_ == "k.json"
    assert "# mine" in path.read_text()
    assert path.stat().st_mode & 0o077 == 0


def test_a_taken_name_is_kept_unless_replacing_is_asked_for(tmp_path: Path) -> None:
    """No engine is swapped under a name by accident."""
    path = tmp_path / "contexts.yaml"
    add_context(path, "a", Context(engine="https://one.example"))
    with pytest.raises(UsageError, match="already"):
        add_context(path, "a", Context(engine="https://two.example"))
    add_context(path, "a", Context(engine="https://two.example"), replace=True)

    assert load_contexts(path).contexts["a"].engine == "https://two.example"


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/b", "x" * 64, "\x1b[2J"])
def test_what_is_no_name_is_usage(tmp_path: Path, name: str) -> None:
    """And nothing is written."""
    path = tmp_path / "contexts.yaml"
    with pytest.raises(UsageError):
        add_context(path, name, Context(engine="https://one.example"))
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("contexts: {a: {engine: 3}}", "1:24", "contexts.a.engine"),
        ("contexts:\n  a:\n    engine: x\n    tokken_env: T\n", "4:17", "tokken_env"),
        ("contexts: {a: {}}", "1:15", "contexts.a.engine"),
        ("contexts: {a: {engine: x, token_env: A, token_file: b}}", "1:15", "one of token_env"),
        ("contexts: {a: {engine: x, production: yes}}", "1:39", "truth value"),
        ("contexts: [", "1:", ""),
        ("contexts: {a: {engine: x}, a: {engine: y}}", "1:28", "a"),
        ("- a\n", "1:1", ""),
    ],
)
def test_a_wrong_file_is_named_with_its_place(
    tmp_path: Path, text: str, place: str, words: str
) -> None:
    """Strict: an unknown key is an error, not a wish that nobody hears."""
    path = tmp_path / "contexts.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_contexts(path)

    assert f"contexts.yaml:{place}" in caught.value.message
    assert words in caught.value.message


def test_a_token_in_the_file_is_refused_and_not_repeated(tmp_path: Path) -> None:
    """Neither in the message nor in a cause that -v would show."""
    path = tmp_path / "contexts.yaml"
    path.write_text("contexts:\n  a:\n    engine: x\n    token: s3cret-token\n")
    with pytest.raises(InputError) as caught:
        load_contexts(path)

    assert "s3cret" not in caught.value.message + str(caught.value.__cause__)
    assert "never kept here" in (caught.value.hint or "")
