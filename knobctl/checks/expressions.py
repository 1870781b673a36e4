"""CEL: expressions, compiled and type-checked, with errors at their place in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from cel_expr_python import cel

from knobctl.text import nearest, spelled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_MAP: Final = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
VARIABLES: Final[Mapping[str, cel.Type]] = {
    **dict.fromkeys(
        (
            "effective",  # knob -> value in force
            "knobs",  # knob -> value as written
            "live",  # knob -> value that is set on the engine
            "changed",  # knob -> {before, after}, in force
            "role",  # role -> value in force
            "name",  # role -> knob
            "text",  # role -> value as written, or the default
            "default",  # role -> platform default
            "reach",  # the arithmetic of the floor, exact
            "reach_before",  # the same before the change
            "knob",  # the knob that an `each` policy is asked for
            "fleet",
        ),
        _MAP,
    ),
    "labels": cel.Type.Map(cel.Type.STRING, cel.Type.STRING),
    "owner": cel.Type.STRING,
    "tenant": cel.Type.STRING,
    "today": cel.Type.STRING,
    "evidence": cel.Type.List(_MAP),
}
MOST_CHARACTERS: Final = 10_000
"""How long an expression, or a text with expressions, may be: what it makes is bounded by that times the steps."""
TOO_MANY_STEPS: Final = "it takes more steps than an expression may"
_AT: Final = re.compile(r"<input>:(-?\d+):(-?\d+): (.*)")


class ExpressionError(Exception):
    """An expression does not compile, or fails while it runs."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        """Where in the text of the expression, in characters."""


class RunawayError(ExpressionError):
    """An expression takes more steps than one may take: asked once more, it would take as many."""


@lru_cache(maxsize=1)
def _environment() -> cel.Env:
    return cel.NewEnv(variables=dict(VARIABLES))


@lru_cache(maxsize=512)
def _compiled(text: str) -> cel.Expression:
    """Compile a text; one tenant that is judged with every key typed asks for the same ones each time."""
    return _environment().compile(text)


def activation(variables: Mapping[str, object]) -> cel.Activation:
    """Bind the variables for one or more evaluations."""
    return _environment().Activation(dict(variables))


@dataclass(frozen=True, slots=True)
class Expression:
    """One CEL expression. Its value never raises: a failure while it runs is an `ExpressionError`."""

    text: str
    compiled: cel.Expression

    def value(self, variables: cel.Activation) -> Any:  # noqa: ANN401  CEL is typed at run time
        """Evaluate.

        Raises:
            ExpressionError: A key that is not there, a division by zero, mixed types, too many steps.
        """
        try:
            result = self.compiled.eval(variables)
        except RuntimeError as error:
            raise RunawayError(TOO_MANY_STEPS) from error
        if result.type() == cel.Type.ERROR:
            message = str(result.value()).partition(": ")[2] or str(result.value())
            raise ExpressionError(_plainer(message))
        return result.plain_value()

    def holds(self, variables: cel.Activation) -> bool:
        """Evaluate a condition.

        Raises:
            ExpressionError: As `value`, and where the answer is no truth value.
        """
        return truth(self.value(variables))


def truth(outcome: object) -> bool:
    """Take what a condition gave for an answer.

    Raises:
        ExpressionError: Where it failed, and where it gave no truth value.
    """
    if isinstance(outcome, ExpressionError):
        raise outcome
    if not isinstance(outcome, bool):
        raise ExpressionError(f"the condition gives {spelled(outcome)}, not true or false")
    return outcome


class Together:
    """Several expressions that are evaluated in one step: most of what one costs is the way to CEL and back."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self._single = expressions
        self._listed: Expression | None
        # The text may end in a comment, so that the bracket after it stands on a line of its own.
        listed = ",".join(f"({one.text}\n)" for one in expressions)
        try:
            self._listed = Expression("", _compiled(f"[{listed}]"))
        except RuntimeError:  # longer than CEL takes, or deeper by this bracket: one at a time then
            self._listed = None

    def outcomes(self, variables: cel.Activation) -> Sequence[Any]:
        """Evaluate all of them: of each its value, or why it has none, as an `ExpressionError`."""
        if self._listed is not None:
            try:
                return self._listed.value(variables)  # type: ignore[no-any-return]  # CEL is typed at run time
            except ExpressionError:  # which of them it was, each by itself says
                pass
        return [self._outcome(one, variables) for one in self._single]

    @staticmethod
    def _outcome(one: Expression, variables: cel.Activation) -> Any:  # noqa: ANN401  CEL is typed at run time
        try:
            return one.value(variables)
        except ExpressionError as error:
            return error


def compile_expression(text: str) -> Expression:
    """Compile and type-check an expression.

    Raises:
        ExpressionError: With the offset of the first error in the text.
    """
    refuse_length(text)
    try:
        return Expression(text, _compiled(text))
    except (RuntimeError, TypeError) as error:  # TypeError: half a surrogate pair is no text to CEL
        raise _located(text, str(error)) from error


def compile_condition(text: str) -> Expression:
    """Compile an expression that has to say yes or no.

    Raises:
        ExpressionError: As `compile_expression`, and where it is known now that it will give no truth value.
    """
    condition = compile_expression(text)
    gives = condition.compiled.return_type()
    if gives not in (cel.Type.BOOL, cel.Type.DYN):
        begins = len(text) - len(text.lstrip())
        raise ExpressionError(f"the condition gives {_kind_name(gives)}, not true or false", begins)
    return condition


def _kind_name(kind: cel.Type) -> str:
    name = kind.name().partition("(")[0].partition("<")[0].lower()
    return _KIND_NAMES.get(name, f"a {name}")


_KIND_NAMES: Final = {
    "string": "a text",
    "int": "a whole number",
    "uint": "a whole number",
    "double": "a number",
    "null": "null",
}


def refuse_length(text: str) -> None:
    """Refuse what is longer than an expression, or a text with expressions, may be.

    Raises:
        ExpressionError: Saying how long it is.
    """
    if len(text) > MOST_CHARACTERS:
        raise ExpressionError(
            f"{len(text):,} characters; an expression has at most {MOST_CHARACTERS:,}"
        )


def _located(text: str, said: str) -> ExpressionError:
    """What CEL says of a text, in plainer words, at its place."""
    found = _AT.search(said)
    if not found:
        return ExpressionError(_plainer(said.partition("\n")[0]))
    line, column = int(found[1]), int(found[2])
    if line < 1:
        return ExpressionError(_plainer(found[3]))
    lines = text.split("\n")  # CEL knows no other ends of lines
    offset = min(sum(len(before) + 1 for before in lines[: line - 1]) + column - 1, len(text))
    message = _plainer(found[3])
    if undeclared := _UNDECLARED.fullmatch(message):
        return _undeclared(text, undeclared[1], offset)
    return ExpressionError(message, offset)


def _undeclared(text: str, name: str, offset: int) -> ExpressionError:
    """A name that nothing has, at the name: CEL points at the dot or the bracket after it."""
    name = name.partition(".")[0]
    start = text.rfind(name, 0, offset + len(name))
    is_call = text[offset : offset + 1] == "("
    close = nearest(name, _FUNCTIONS if is_call else VARIABLES)
    message = f"undeclared reference to '{name}'"
    if close:
        message += f"; did you mean {close}?"
    elif not is_call:
        message += f"; known are {', '.join(VARIABLES)}"
    return ExpressionError(message, offset if start < 0 else start)


def _plainer(message: str) -> str:
    """CEL's own words without its containers and token lists."""
    if "recursion" in message:
        return f"nested more than {_DEEPEST} deep"
    message = re.sub(r" \[[A-Z_]+\]$", "", message)
    message = re.sub(r"^[A-Z_]+: ", "", message)
    message = re.sub(r" \(in container ''\)", "", message)
    return re.sub(r" expecting \{.*\}", "", message).replace("'<EOF>'", "the end")


_DEEPEST: Final = 32
"""What CEL allows."""
_UNDECLARED: Final = re.compile(r"undeclared reference to '([\w.]+)'")
_FUNCTIONS: Final = (
    "size",
    "has",
    "all",
    "exists",
    "exists_one",
    "map",
    "filter",
    "matches",
    "contains",
    "startsWith",
    "endsWith",
    "int",
    "double",
    "string",
    "duration",
    "timestamp",
)
"""What can be called, for whoever mistypes it."""
