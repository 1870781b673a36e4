"""Judges a draft by what the commands would say of it, and puts what follows of a value into words. Pure."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from knobctl.changes.file_edits import edit_files, wish_for
from knobctl.changes.single import LiveChange, Subject, check_file_change, check_live_changes
from knobctl.changes.stand_in import alone, judging
from knobctl.documents.model import exact_number
from knobctl.errors import InputError, RefusedError, UsageError
from knobctl.finding import Severity
from knobctl.report.evidence_words import labels, refusal
from knobctl.report.explain_value import Question, explain_default, explain_value
from knobctl.report.named_evidence import named_evidence_words
from knobctl.report.resolved import layer_words
from knobctl.text import spelled
from knobctl.tui.draft import BEGUN, As, Begun, Draft, Due, Moved, Understood, due, understand
from knobctl.tui.lab import floor_in_force, lab_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date
    from fractions import Fraction

    from knobctl.changes.file_edits import FileEdit, Wish
    from knobctl.checks.evidence_files import Evidence, NoEvidence
    from knobctl.documents.model import Effective
    from knobctl.engine.interface import LiveSet
    from knobctl.evidence.recording import Recording
    from knobctl.finding import Finding
    from knobctl.knobs import Catalogue, Knob, KnobValue
    from knobctl.report.explain_value import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is to be said of one state of a draft."""

    draft: Draft
    understood: Understood
    due: Sequence[Due]
    """What a push changes; empty where the engine could not be asked."""
    moved: Moved
    findings: Sequence[Finding]
    """What the checks say of the set as it would be, gravest first; standing and waived ones last."""
    wish: Wish | None
    """What its file would say otherwise; None where it has none."""
    edit: FileEdit | None = None
    """The edit of the tenant's file; None where nothing is to be edited."""
    refused: str = ""
    """Why the file cannot be edited, if it cannot."""

    def of(self, knob: str) -> list[Finding]:
        """What is said of one knob's value; where what was typed is none, only that."""
        if faults := self.understood.faults.get(knob):
            return list(faults)
        own = (
            *self.understood.remarks.get(knob, ()),
            *(one for one in self.findings if one.field_path == knob),
        )
        return list({(one.rule, one.message): one for one in own}.values())

    def counting(self, severity: Severity) -> int:
        """How many findings of a severity fail a push or ask to be acknowledged."""
        typed = [one for found in self.understood.faults.values() for one in found]
        return sum(one.severity is severity and one.counts for one in (*typed, *self.findings))

    @property
    def obstacle(self) -> str:
        """Why it can be neither written nor pushed as it is; empty where nothing stands against it."""
        understood = self.understood
        if understood.strangers:
            return f"the schema has no {understood.strangers[0]} any more; b takes the edit out"
        if understood.faults:
            knob = next(iter(understood.faults))
            return understood.faults[knob][0].message
        if self.moved.base:
            return "what the draft stands on moved since it was begun; b puts its edits on top of what is there now"
        errors = [one for one in self.findings if one.severity is Severity.ERROR and one.counts]
        return f"{errors[0].rule}: {errors[0].message}" if errors else ""


class TenantJudge:
    """One tenant as it was read last: judges drafts of it. What it is made of is prepared once."""

    def __init__(self, subject: Subject, live: LiveSet | None, today: date) -> None:
        """Take the tenant.

        Args:
            subject: The tenant, its document and its fleet.
            live: What the engine holds; None where it could not be asked.
            today: The day, for waivers and evidence.
        """
        repository = alone(subject.repository, subject.document)
        self.whole = subject
        self.subject = Subject(
            tenant=subject.tenant,
            repository=repository,
            fleet=subject.fleet,
            document=subject.document,
        )
        self.live = live
        from knobctl.checks.asking import Askings  # CEL comes with it, which nothing needs before

        self._asking, self._one_at_a_time = Askings(), Lock()
        self.catalogue: Catalogue = repository.catalogue
        self.today = today

    def beside(self, live: LiveSet | None) -> TenantJudge:
        """The same tenant beside another live set; nothing of its files is looked at again."""
        other = copy(self)
        other.live = live
        other.__dict__.pop("now", None)
        return other

    @cached_property
    def effective(self) -> Effective | None:
        """The document with its layers; None where the tenant has none."""
        document = self.subject.document
        return self.subject.repository.effective(document) if document else None

    @cached_property
    def now(self) -> Begun:
        """Files and engine as they were read."""
        return Begun(
            repo=dict(self.effective.desired) if self.effective else None,
            live=dict(self.live.knobs) if self.live else None,
            revision=self.live.revision if self.live else None,
        )

    @cached_property
    def troubles(self) -> Sequence[Finding]:
        """What is wrong with the tenant's document itself: its name, its form, a layer that is missing."""
        from knobctl.checks import validate_repository

        document = self.subject.document
        if document is None:
            return ()
        report = validate_repository(judging(self.subject.repository, [document]))
        return [one for one in report.findings if one.severity is Severity.ERROR]

    @cached_property
    def unreadable(self) -> Sequence[str]:
        """Files of the repository that cannot be read as what they are; a tenant's document may be in one."""
        found = (one for one in self.whole.repository.findings if one.severity is Severity.ERROR)
        return list(dict.fromkeys(one.primary.file for one in found if one.primary))

    def draft(self, engine: str) -> Draft:
        """A draft in which nothing is edited yet."""
        return Draft(engine=engine, tenant=self.subject.tenant, begun=self.now)

    def judge(self, draft: Draft) -> Judgement:
        """Judge a draft: what was typed, what changes, what the policies say, what its file would say."""
        understood = understand(draft, self.catalogue)
        wish, edit, refused = self._file_edit(draft, understood)
        findings = self._findings(draft, understood, edit)
        return Judgement(
            draft=draft,
            understood=understood,
            due=due(draft, understood, self.now, self.catalogue) if self.live else (),
            moved=draft.moved(self.now, self.catalogue),
            findings=findings,
            wish=wish,
            edit=edit,
            refused=refused,
        )

    def answer(self, judgement: Judgement, knob: Knob) -> Answer | None:
        """What the draft's value of a knob does, compared with what is in force now; None where it is no value."""
        if knob.name in judgement.understood.faults:
            return None
        values = dict(self.catalogue.effective(judgement.understood.desired))
        exactly = self._exactly(judgement, values)
        now = self.now.live if self.now.live is not None else self.now.base
        before = {**values, knob.name: now.get(knob.name, knob.default)}

        def exact_before(name: str) -> Fraction:
            return exact_number("", before[name]) if name == knob.name else exactly(name)

        literal = self._literal(judgement, knob)
        question = Question(
            catalogue=self.catalogue,
            knob=knob,
            literal=literal or "",
            values=before,
            exact=exact_before,
            tenant=self.subject.tenant if self.effective else None,
        )
        return explain_value(question) if literal else explain_default(question)

    def _literal(self, judgement: Judgement, knob: Knob) -> str | None:
        """The draft's value as it is written somewhere; None where nothing writes it."""
        entry, desired = judgement.draft.entry(knob.name), judgement.understood.desired
        if not isinstance(entry, As):
            return entry
        origin = self.effective.origin(knob.name) if self.effective else None
        if entry is BEGUN and origin and origin.value == desired.get(knob.name, knob.unset):
            return origin.literal
        return spelled(desired[knob.name]) if knob.name in desired else None

    def _exactly(
        self, judgement: Judgement, values: Mapping[str, KnobValue]
    ) -> Callable[[str], Fraction]:
        literals = _sound(judgement.draft.literals, judgement.understood)
        effective = self.effective

        def exactly(name: str) -> Fraction:
            if name not in literals and effective and effective.values[name] == values[name]:
                return effective.exact(name)
            return exact_number(literals.get(name, ""), values[name])

        return exactly

    @staticmethod
    def exact_number(value: KnobValue) -> Fraction | None:
        """A number of a set exactly; None where it is none."""
        return None if isinstance(value, str) else exact_number("", value)

    @cached_property
    def _evidences(self) -> Sequence[Evidence | NoEvidence]:
        """What the tenant's document and its layers name as evidence, read once."""
        from knobctl.checks.evidences import Evidences

        document = self.subject.document
        if document is None or not self.subject.repository.evidence_of(document):
            return ()
        return Evidences(self.subject.repository).of(document)

    def evidence(self, judgement: Judgement, knob: Knob) -> list[str]:
        """What the evidence that the tenant names says of the draft's value of a knob."""
        values = self.catalogue.effective(judgement.understood.desired)
        document = self.subject.document
        layers = document.layers if document else ()
        named = named_evidence_words(knob, values, self.subject.tenant, layers, self._evidences)
        return [*self._recorded_words(judgement, knob), *named]

    @cached_property
    def _recording(self) -> Recording | str | None:
        """The recorded scores among the evidence that is named; why they cannot be read, if so."""
        from knobctl.evidence.opening import named_recording

        document = self.subject.document
        if document is None or not document.evidence:
            return None
        root = self.subject.repository.root
        try:
            return named_recording(root, document.evidence, root)
        except InputError as error:
            return error.message

    def _recorded_words(self, judgement: Judgement, knob: Knob) -> Iterator[str]:
        """How many recorded questions would get nothing at the draft's floor."""
        recording = self._recording if knob.role == "floor.fused" else None
        if isinstance(recording, str):
            yield recording
        elif recording:
            live = self.now.live
            now = None if live is None else floor_in_force(self.catalogue, live)
            try:
                lab = lab_of(judgement.draft, self.catalogue, now=now, recording=recording)
            except UsageError:  # said where it matters: there is no ranker that takes part
                return
            yield " ".join(filter(None, (refusal(lab.view), labels(lab.view))))

    def layers(self, knob: Knob) -> list[str]:
        """Where the value in force of the files is written, and what that hides."""
        return layer_words(self.effective, knob) if self.effective else []

    def _file_edit(
        self, draft: Draft, understood: Understood
    ) -> tuple[Wish | None, FileEdit | None, str]:
        if self.effective is None:
            return None, None, ""
        wish = wish_for(
            self.effective,
            understood.desired,
            only=understood.edited,
            literals=_sound(draft.literals, understood),
        )
        try:
            edits = edit_files(self.subject.repository, [wish])
        except (RefusedError, InputError) as error:
            return wish, None, error.message
        return wish, next(iter(edits), None), ""

    def _findings(
        self, draft: Draft, understood: Understood, edit: FileEdit | None
    ) -> list[Finding]:
        with self._one_at_a_time:  # an earlier draft may still be judged in another thread
            return _once(self._asked(draft, understood, edit))

    def _asked(self, draft: Draft, understood: Understood, edit: FileEdit | None) -> list[Finding]:
        found: list[Finding] = []
        if self.live is not None:
            change = LiveChange(
                subject=self.subject,
                live=self.live,
                desired=understood.desired,
                literals=_sound(draft.literals, understood),
            )
            report = check_live_changes([change], today=self.today, asking=self._asking)
            found += report.findings
        if edit is not None:
            report = check_file_change(self.subject, edit, today=self.today, asking=self._asking)
            found += report.findings
        return found


def _sound(literals: Mapping[str, str], understood: Understood) -> dict[str, str]:
    """What was typed and is a value that differs from what was there."""
    edited = set(understood.edited) - understood.faults.keys()
    return {name: literal for name, literal in literals.items() if name in edited}


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """What is said of the engine's set and of the file's once; as grave as the graver of the two."""
    kept: dict[tuple[str, str | None], Finding] = {}
    for one in findings:
        key = one.rule, one.field_path
        if key not in kept or (one.counts and not kept[key].counts):
            kept[key] = one
    return sorted(kept.values(), key=lambda one: (not one.counts, one.severity.rank))
