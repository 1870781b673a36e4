"""The settings of the benchmark: the table `benchmark_relevance_floor` of `knobctl.toml`."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from knobctl.errors import InputError
from knobctl.evidence.harvest.asked import Names
from knobctl.evidence.judging.cost import Model, Overheads, Price
from knobctl.text import nearest, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = "benchmark_relevance_floor"
Share = Annotated[float, Field(ge=0, le=1)]
Dollars = Annotated[float, Field(ge=0)]


class BenchSettings(BaseModel):
    """How questions are found, replayed and judged; every setting has a default."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    floors: list[Share] = Field(default=[0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40], min_length=1)
    """The floors of a sweep, each above the one before it."""
    top_k: int = Field(default=40, ge=1, le=500)
    """So many of the best results go into the cosines of a replay."""
    sample_seed: int = 0
    """Which questions a replay of a part of them takes."""
    concurrency: int = Field(default=4, ge=1, le=64)
    """Calls at a time."""
    judge_protocol: Literal[1] = 1
    """Which question the judge is asked."""
    call_retries: int = Field(default=2, ge=0, le=10)
    """How often a failed call of a model is sent again."""
    call_retry_backoff_seconds: float = Field(default=2.0, ge=0, le=60)
    """The first pause before that; it doubles."""
    estimate_answer_prompt_overhead_tokens: int = Field(default=700, ge=0)
    estimate_answer_output_tokens: int = Field(default=500, ge=0)
    estimate_judge_prompt_overhead_tokens: int = Field(default=350, ge=0)
    estimate_judge_output_tokens: int = Field(default=20, ge=0)
    confirm_call_threshold: int = Field(default=50, ge=0)
    """From more projected calls on somebody must say yes."""
    heldout_path: str | None = None
    """Where the held-out set lies; in the user's data folder if None."""
    min_question_chars: int = Field(default=15, ge=1)
    max_question_chars: int = Field(default=300, ge=1)
    min_words: int = Field(default=4, ge=1)
    mcp_server: str | None = None
    """A part of the name of the MCP server that asks the engine; any server if None."""
    mcp_query_tool: str = Field(default="query", min_length=1)
    mcp_question_argument: str = Field(default="question", min_length=1)
    cli_program: str | None = Field(default=None, min_length=1)
    """The program that asks the engine in a shell; without one shell calls are not read."""
    cli_verb: str = Field(default="query", min_length=1)
    other_store_markers: list[str] = Field(default_factory=list)
    """What in a shell call says that it asks another store, such as `DATABASE_URL=` or `--store`."""
    refusal_phrase: str = Field(default="below the relevance floor", min_length=1)
    """What an answer holds that was refused."""

    @model_validator(mode="after")
    def _bounds_in_order(self) -> BenchSettings:
        if self.min_question_chars > self.max_question_chars:
            raise ValueError("min_question_chars is above max_question_chars")
        if any(high <= low for low, high in pairwise(self.floors)):
            raise ValueError("floors must rise, each above the one before it")
        return self

    @property
    def overheads(self) -> Overheads:
        """Tokens that every call of a model has besides its data."""
        return Overheads(
            answer_prompt=self.estimate_answer_prompt_overhead_tokens,
            answer_output=self.estimate_answer_output_tokens,
            judge_prompt=self.estimate_judge_prompt_overhead_tokens,
            judge_output=self.estimate_judge_output_tokens,
        )

    @property
    def names(self) -> Names:
        """How an engine is asked in transcripts."""
        return Names(
            mcp_server=self.mcp_server,
            mcp_query_tool=self.mcp_query_tool,
            mcp_question_argument=self.mcp_question_argument,
            cli_program=self.cli_program,
            cli_verb=self.cli_verb,
            other_store_markers=tuple(self.other_store_markers),
            refusal_phrase=self.refusal_phrase,
            min_question_chars=self.min_question_chars,
            max_question_chars=self.max_question_chars,
            min_words=self.min_words,
        )


def bench_settings(tables: Mapping[str, Any], file: str) -> BenchSettings:
    """Read the benchmark's table.

    Args:
        tables: The tables of the file that are about the benchmark, by name.
        file: The file, as people name it.

    Raises:
        InputError: Naming the setting that is wrong.
    """
    try:
        return BenchSettings.model_validate(tables.get(TABLE, {}))
    except ValidationError as error:
        first = error.errors()[0]
        key = visible(".".join(map(str, first["loc"])))
        close = nearest(key, BenchSettings.model_fields)
        hint = f"did you mean {close}?" if first["type"] == "extra_forbidden" and close else None
        raise InputError(f"{file}: [{TABLE}] {key}: {first['msg']}", hint=hint) from error


class _Llm(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    price_per_mtok: dict[str, tuple[Dollars, Dollars]] = Field(default_factory=dict)
    """By model, dollars a million tokens: read, written."""
    chars_per_token: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """By model, where it is not 4."""


def model_named(name: str, tables: Mapping[str, Any], file: str) -> Model:
    """What the table `llm` says of a model; no price where it says none.

    Raises:
        InputError: Naming the setting that is wrong.
    """
    try:
        llm = _Llm.model_validate(tables.get("llm", {}))
    except ValidationError as error:
        first = error.errors()[0]
        key = visible(".".join(map(str, first["loc"])))
        raise InputError(
            f"{file}: [llm] {key}: {first['msg']}",
            hint="such as: price_per_mtok = {some-model = [3.0, 15.0]}, read and written",
        ) from error
    price = llm.price_per_mtok.get(name)
    return Model(
        name=name,
        price=Price(*price) if price else None,
        chars_per_token=llm.chars_per_token.get(name, 4.0),
    )
