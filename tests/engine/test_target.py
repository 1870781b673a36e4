"""Which engine is meant, and which ways to it are safe."""

from __future__ import annotations

from pathlib import Path

import pytest

from knobctl.engine.contexts import Context, ContextBook
from knobctl.engine.target import Target, Wanted, assert_safe, choose_target, is_loopback
from knobctl.engine.tokens import GivenToken, NoToken, TokenCommand, TokenFile
from knobctl.errors import RefusedError, UsageError

BOOK = ContextBook(
    current="staging",
    contexts={
        "staging": Context(engine="https://staging.example", fleet="staging", token_env="STAGING"),
        "prod": Context(engine="https://prod.example", production=True, token_file="prod.token"),
        "many": Context(engine="https://many.example", token_command=["print-token", "{tenant}"]),
    },
)
FOLDER = Path("/home/anna/.config/knobctl")


def choose(wanted: Wanted, book: ContextBook = BOOK, **environment: str) -> Target:
    """Choose with an environment."""
    return choose_target(
        wanted, book, environment=environment, folder=FOLDER, notice=lambda _: None
    )


def test_without_anything_it_is_the_embedded_engine() -> None:
    """The default needs no set-up."""
    target = choose(Wanted(), ContextBook())

    assert target.is_embedded
    assert isinstance(target.tokens, NoToken)


def test_the_current_context_stands_in_for_what_is_not_said() -> None:
    """Its fleet and token come with it."""
    target = choose(Wanted(), STAGING="abcdef")

    assert (target.engine, target.context, target.fleet) == (
        "https://staging.example",
        "staging",
        "staging",
    )
    assert target.tokens.token(None) == "abcdef"


def test_a_named_engine_takes_nothing_from_the_current_context() -> None:
    """A context's token is for the context's engine and goes nowhere else."""
    target = choose(Wanted(engine="https://elsewhere.example"), STAGING="abcdef")

    assert (target.context, target.fleet) == (None, None)
    assert isinstance(target.tokens, NoToken)


def test_a_token_that_is_given_beats_the_contexts() -> None:
    """The file option first, then the variable, then the context."""
    by_variable = choose(Wanted(context="prod"), KNOBCTL_TOKEN="abcdef")
    by_file = choose(Wanted(context="prod", token_file=Path("t")), KNOBCTL_TOKEN="abcdef")
    by_context = choose(Wanted(context="prod"))

    assert isinstance(by_variable.tokens, GivenToken)
    assert isinstance(by_file.tokens, TokenFile)
    assert by_file.tokens.path == Path("t")
    assert isinstance(by_context.tokens, TokenFile)
    assert by_context.tokens.path == FOLDER / "prod.token"


def test_a_command_that_takes_the_tenant_is_a_token_a_tenant() -> None:
    """So that engines that know tenants by tokens alone can be used."""
    target = choose(Wanted(context="many"))

    assert isinstance(target.tokens, TokenCommand)
    assert target.tokens.per_tenant


def test_a_variable_that_is_not_set_is_said_at_once() -> None:
    """Not as an engine that does not let us in."""
    with pytest.raises(UsageError, match="STAGING, which is not set"):
        choose(Wanted())


def test_engine_and_context_together_are_refused() -> None:
    """Nobody guesses which one was meant."""
    with pytest.raises(UsageError, match="choose one"):
        choose(Wanted(engine="embedded:", context="prod"))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080",
        "http://127.9.9.9",
        "http://[::1]:8080",
        "http://localhost:1",
        "https://engine.example",
        "https://engine.example:8443/behind/a/path",
        "embedded:",
        "embedded:some/file.db",
    ],
)
def test_ways_that_are_safe(url: str) -> None:
    """TLS anywhere, plain HTTP on this machine."""
    assert_safe(Target(engine=url))


@pytest.mark.parametrize(
    "url",
    [
        "http://engine.example",
        "http://10.0.0.1",
        "http://0.0.0.0",
        "http://localhost.example",
        "http://127.0.0.1.example",
        "http://[2001:db8::1]",
    ],
)
def test_plain_http_beyond_this_machine_is_refused_unless_asked_for(url: str) -> None:
    """The token would travel in the clear."""
    with pytest.raises(RefusedError, match="in the clear"):
        assert_safe(Target(engine=url))
    assert_safe(Target(engine=url, insecure=True))


@pytest.mark.parametrize(
    ("url", "insecure"),
    [
        ("http://engine.example", True),
        ("http://127.0.0.1", False),
        ("https://engine.example", True),
    ],
)
def test_production_refuses_every_plain_way(url: str, insecure: bool) -> None:
    """Neither plain HTTP nor the wish for it."""
    with pytest.raises(RefusedError, match="marked production"):
        assert_safe(Target(engine=url, insecure=insecure, production=True, context="prod"))


@pytest.mark.parametrize(
    "url",
    [
        "engine.example",
        "ftp://engine.example",
        "https://",
        "https://user:password@engine.example",
        "https://engine.example?token=x",
        "https://engine.example:port",
        "https://[::1",
        "",
    ],
)
def test_what_is_no_engine_is_usage_and_shows_no_password(url: str) -> None:
    """A password in a URL is refused without being repeated."""
    with pytest.raises(UsageError) as caught:
        assert_safe(Target(engine=url))

    assert "password" not in caught.value.message


def test_loopback_is_told_by_spelling_alone() -> None:
    """No name server decides whether a token may travel in the clear."""
    assert is_loopback("127.1.2.3")
    assert not is_loopback("loopback.example")


def test_nothing_secret_shows_in_a_repr() -> None:
    """Targets and token sources may end up in a log or a traceback."""
    target = choose(Wanted(context="prod"), KNOBCTL_TOKEN="s3cret-token")

    assert "s3cret" not in repr(target)
