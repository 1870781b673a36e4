"""The form of a plan's JSON, in a file and in a journal. What is in it is not believed yet."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Scalar = Annotated[int | float | str, Field(union_mode="left_to_right")]
Number = Annotated[int | float, Field(union_mode="left_to_right")]
C = TypeVar("C", bound="Content")
TenantName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$")]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


class _Change(_Strict):
    field_path: str
    op: Literal["set", "change", "reset"]
    before: Scalar | None
    after: Scalar | None
    effective_before: Scalar
    effective_after: Scalar


class Hazard(_Strict):
    """A finding."""

    rule: str
    severity: Literal["error", "warning", "info"]
    tenant: str | None
    field_path: str | None
    value: Any
    message: str
    hint: str | None
    file: str | None
    line: int | None
    column: int | None
    end_line: int | None
    end_column: int | None
    related: list[dict[str, Any]]
    standing: bool
    waived_by: str | None


class PlannedEvidence(_Strict):
    """A file of evidence beside a change."""

    path: str
    sha256: Sha256 | None = None
    attached: Literal[True] | None = None
    digest: Sha256 | None = None
    kind: Literal["simulation", "recommendation", "calibration"] | None = None
    statement: str | None = None
    why: str | None = None
    figures: dict[str, Number | dict[str, Number | None] | None] = {}


class Content(_Strict):
    """What is planned for one tenant."""

    tenant: TenantName
    source: str
    pruned: Literal[True] | None = None
    labels: dict[str, str]
    owner: str | None
    base_revision: str | None
    base: dict[str, Scalar]
    set_: dict[str, Scalar] = Field(alias="set")
    unknown: dict[str, str]
    changed_field_paths: list[str]
    changes: list[_Change]
    hazards: list[Hazard]
    evidence: list[PlannedEvidence]


class SealedContent(Content):
    """The same in a file, with its digest."""

    digest: Sha256


class _Limit(_Strict):
    limit: str
    set_by: str


class _Limits(_Strict):
    max_tenants: list[_Limit]
    max_share: list[_Limit]
    max_pruned: list[_Limit] = []
    largest_step: dict[str, str]
    protected: list[str]
    freezes: list[str]
    reason_required: bool
    tickets: list[str | None] = []


class Planned(_Strict, Generic[C]):
    """What a plan says."""

    engine: str
    fleet: str | None
    schema_digest: Sha256
    managed_tenants: int = Field(ge=0)
    limits: _Limits
    unchanged: int = Field(default=0, ge=0)
    tenants: list[C]
    hazards: list[Hazard]


class File(_Strict):
    """A plan file."""

    format: Literal["knobctl-plan"]
    format_version: Literal[1]
    made_at: str
    made_by: str
    plan: Planned[SealedContent]
    digest: Sha256
