"""Named engines: `contexts.yaml` in the user's configuration folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from knobctl.documents.files import write_atomically
from knobctl.documents.patterns import pattern_fault
from knobctl.documents.reader import read_bytes
from knobctl.engine.pace import MOST_PER_S
from knobctl.errors import InputError, UsageError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from knobctl.documents.tree import Spot, Text

ContextName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")
]
ShortText = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class Context(BaseModel):
    """One named engine: where it is, whose token opens it, what is true of it. Holds no secret."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    engine: ShortText
    """The URL, as `--engine` takes it."""
    fleet: ShortText | None = None
    schema_: ShortText | None = Field(default=None, alias="schema")
    token_env: ShortText | None = None
    """The environment variable that holds the token."""
    token_file: ShortText | None = None
    token_command: list[ShortText] | None = Field(default=None, min_length=1)
    """Program and arguments; `{tenant}` stands for the tenant."""
    ca_bundle: ShortText | None = None
    proxy: ShortText | None = None
    rate: int | None = Field(default=None, ge=1, le=MOST_PER_S)
    """Requests a second that its engine gets at most from one run."""
    production: bool = False
    ticket_pattern: ShortText | None = None
    """What the ticket of a push must match as a whole; one is then demanded."""

    @model_validator(mode="after")
    def _one_token_source(self) -> Context:
        if (
            sum(
                source is not None
                for source in (self.token_env, self.token_file, self.token_command)
            )
            > 1
        ):
            raise ValueError("write one of token_env, token_file and token_command")
        return self

    @field_validator("ticket_pattern")
    @classmethod
    def _is_pattern(cls, pattern: str | None) -> str | None:
        if pattern is not None and (fault := pattern_fault(pattern)):
            raise ValueError(fault)
        return pattern

    @property
    def token_source(self) -> str:
        """Where the token comes from, in words; empty where none is sent."""
        if self.token_command:
            return f"command {self.token_command[0]}"
        if self.token_file:
            return f"file {self.token_file}"
        return f"environment {self.token_env}" if self.token_env else ""


class ContextBook(BaseModel):
    """Every named engine of one user, and which one is current."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    current: ContextName | None = None
    contexts: dict[ContextName, Context] = Field(default_factory=dict)

    def named(self, name: str) -> Context:
        """Give one context.

        Raises:
            UsageError: If there is none of this name.
        """
        if name in self.contexts:
            return self.contexts[name]
        known = ", ".join(self.contexts) or "none are defined"
        raise UsageError(
            f"there is no context {name!r}; known: {known}", hint="knobctl context add --help"
        )


def load_contexts(path: Path) -> ContextBook:
    """Read the named engines; an absent file is an empty book.

    Raises:
        InputError: Naming the line, if the file is no such book.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return ContextBook()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    text = read_bytes(raw, str(path))
    troubles = [*text.troubles, *(trouble for tree in text.trees for trouble in tree.troubles)]
    if troubles:
        place = text.location(troubles[0].start, troubles[0].end)
        raise InputError(f"{path}:{place.line}:{place.column}: {troubles[0].message}")
    if not text.trees or text.trees[0].value is None:
        return ContextBook()
    try:
        return ContextBook.model_validate(text.trees[0].value)
    except ValidationError as error:
        # Without the cause: it quotes the input, and someone may have written a token there.
        raise _explained(error, path, text) from None


def _explained(error: ValidationError, path: Path, text: Text) -> InputError:
    first = error.errors(include_url=False, include_input=False)[0]
    steps = [step for step in first["loc"] if step != "[key]"]
    spot = _nearest_spot(text.trees[0].spot, steps)
    place = text.location(spot.start, spot.end)
    what = ".".join(str(step) for step in steps)
    hint = None
    if first["type"] == "extra_forbidden" and steps[-1] == "token":
        hint = "a token is never kept here; name its source: token_env, token_file or token_command"
    return InputError(
        f"{path}:{place.line}:{place.column}: {visible(what)}: {first['msg'].removeprefix('Value error, ')}",
        hint=hint,
    )


def _nearest_spot(spot: Spot, steps: list[str | int]) -> Spot:
    for step in steps:
        children = spot.children
        if isinstance(children, dict) and step in children:
            spot = children[str(step)]
        elif isinstance(children, list) and isinstance(step, int) and step < len(children):
            spot = children[step]
        else:
            break
    return spot


def make_context(values: Mapping[str, object]) -> Context:
    """Make a context of an operator's options; None stands for "not given".

    Raises:
        UsageError: If they do not fit together.
    """
    try:
        return Context.model_validate(
            {name: value for name, value in values.items() if value is not None}
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        what = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{what}: {message}" if what else message) from None


def add_context(path: Path, name: str, context: Context, *, replace: bool = False) -> ContextBook:
    """Write one named engine into the file; what else stands there stays, comments included.

    Raises:
        UsageError: If the name is no name, or is taken and `replace` is not asked for.
    """
    book = load_contexts(path)
    if name in book.contexts and not replace:
        raise UsageError(f"there is a context {name!r} already", hint="--replace overwrites it")
    try:
        ContextBook.model_validate({"contexts": {name: context.model_dump(by_alias=True)}})
    except ValidationError as error:
        raise UsageError(
            f"{visible(name)!r} is no name of a context: letters, digits, and . _ - between them"
        ) from error
    entry = context.model_dump(by_alias=True, exclude_defaults=True)

    def change(root: Any) -> None:  # noqa: ANN401  ruamel's own mapping
        if not root.get("contexts"):
            root["contexts"] = {}
        root["contexts"][name] = entry

    return _rewritten(path, change)


def use_context(path: Path, name: str) -> ContextBook:
    """Make one named engine the current one.

    Raises:
        UsageError: If there is none of this name.
    """
    load_contexts(path).named(name)

    def change(root: Any) -> None:  # noqa: ANN401  ruamel's own mapping
        if "current" in root:
            root["current"] = name
        else:
            root.insert(0, "current", name)

    return _rewritten(path, change)


def _rewritten(path: Path, change: Any) -> ContextBook:  # noqa: ANN401  a function over ruamel's mapping
    from io import BytesIO

    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    root = yaml.load(path.read_bytes()) if path.exists() else None
    if root is None:
        root = CommentedMap()
    change(root)
    stream = BytesIO()
    yaml.dump(root, stream)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, stream.getvalue(), mode=0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    return load_contexts(path)
