"""A tenant's text in the user's editor: the file where there is one, else the live set, and back through the checks."""

from __future__ import annotations

import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from knobctl.changes.limits import Limits
from knobctl.tui.draft import UNSET
from knobctl.tui.screens.preview import PreviewScreen
from tests.tui.desks import NOW, Desk
from tests.tui.persons import Person, sit_down
from tests.tui.tenants import at, screen


@pytest.fixture
def edits(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make the user's editor: the n-th time it is called it does what the n-th shell line says.

    The driver of tests has no terminal to give away, and gives it away all the same.
    """
    monkeypatch.setattr(HeadlessDriver, "can_suspend", property(lambda _self: True))

    def made(*rounds: str) -> None:
        path = desk.folder.parent / "editor"
        lines = "\n".join(f"  {number}) {line} ;;" for number, line in enumerate(rounds))
        path.write_text(
            f'#!/bin/sh\nn=$(cat "{path}.n" 2>/dev/null || echo 0); echo $((n + 1)) > "{path}.n"\n'
            f'cp "$1" "{path}.seen"\ncase $n in\n{lines}\nesac\n'
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("EDITOR", str(path))

    return made


def kept(desk: Desk) -> list[Path]:
    return list((desk.folder.parent / "home/state/knobctl/edits").glob("*"))


def entries(person: Person) -> dict[str, object]:
    draft = screen(person).draft
    assert draft is not None
    return dict(draft.entries)


async def arm(person: Person) -> None:
    """As `:arm` does."""
    person.app.arming = person.app.arming.arm("recall", None, Limits(), NOW)
    await person.press()


def test_knobs_that_were_changed_are_edits_as_they_were_typed(
    desk: Desk, edits: Callable[..., None]
) -> None:
    """One that is taken out goes back to its default; the file stays, no text is left lying about."""
    edits("""sed -i 's/: 0.15 /: 0.20 /; /retrieval_vector_top_k/d' "$1" """)

    async def act(person: Person) -> None:
        await person.press("o")
        assert "what was saved stands in the draft" in person.told
        assert entries(person)["retrieval_min_score"] == "0.20"

    before = (desk.example() / "tenants/delta.yaml").read_text()
    again(desk, at("delta", act))
    assert (desk.folder / "fleet/tenants/delta.yaml").read_text() == before
    assert kept(desk) == []


def again(desk: Desk, act: Callable[[Person], Awaitable[None]], path: str = "fleet") -> None:
    """Sit down where the example lies already."""
    import shutil

    shutil.rmtree(desk.folder / "fleet", ignore_errors=True)
    sit_down(desk, act, path=path)


@pytest.mark.slow
def test_the_text_is_the_file_as_the_draft_would_have_it(
    desk: Desk, edits: Callable[..., None]
) -> None:
    """Comments and all, with what was edited before."""
    edits("true")

    async def act(person: Person) -> None:
        await person.press("e", *"0.25", "enter", "o")
        assert "nothing was changed" in person.told
        assert entries(person) == {"retrieval_min_score": "0.25"}

    again(desk, at("bolt", act))
    text = (desk.folder.parent / "editor.seen").read_text()
    assert "retrieval_min_score: 0.25       # warns" in text
    assert kept(desk) == []


def test_a_tenant_without_a_document_is_edited_as_its_live_set(
    desk: Desk, edits: Callable[..., None]
) -> None:
    """Every knob explained, as `edit` shows it."""
    edits(
        """sed -i 's/rrf_k: 30/rrf_k: 40/; /^  retrieval_vector_top_k/d' "$1" """,
        """printf 'labels: {a: b}\\n' >> "$1" """,
        """printf '# nothing\\n' > "$1" """,
    )
    desk.live({"loner": {"rrf_k": 30, "retrieval_vector_top_k": 32}})

    async def act(person: Person) -> None:
        await person.press("o")
        assert entries(person) == {"rrf_k": "40", "retrieval_vector_top_k": UNSET}
        await person.press("o")
        assert isinstance(person.app.screen, PreviewScreen)
        assert "labels is kept in files, not on the engine" in " ".join(person.picture.split())
        await person.press("n")
        assert "nothing was changed; the text is kept in" in person.told
        await person.press("o")
        assert "the text is empty; nothing was changed" in person.told
        assert entries(person) == {"rrf_k": "40", "retrieval_vector_top_k": UNSET}

    again(desk, at("loner", act))
    assert (
        "Rank constant of reciprocal rank fusion"
        in (desk.folder.parent / "editor.seen").read_text()
    )
    assert len(kept(desk)) == 2


@pytest.mark.slow
def test_another_tenant_in_its_place_is_refused(desk: Desk, edits: Callable[..., None]) -> None:
    """And so is a text that cannot be read; nothing is taken from either."""
    edits("""sed -i 's/tenant: bolt/tenant: jolt/' "$1" """, """echo '  [' >> "$1" """)

    async def act(person: Person) -> None:
        await person.press("o")
        assert "bolt must stand here" in " ".join(person.picture.split())
        await person.press("y")
        assert isinstance(person.app.screen, PreviewScreen)
        assert "yaml-syntax" in person.picture
        await person.press("escape")
        assert entries(person) == {}

    again(desk, at("bolt", act))
    assert len(kept(desk)) == 1


def test_an_error_of_a_policy_is_no_file_to_be_written(
    desk: Desk, edits: Callable[..., None]
) -> None:
    """A text that changes more than knobs goes through the same checks as `set --file`."""
    edits("""sed -i 's/: 0 /: 0.7 /; s/support-tools/search/' "$1" """)

    async def act(person: Person) -> None:
        await arm(person)
        await person.press("o")
        assert "floor-needs-two-people" in person.picture
        await person.press("n")

    again(desk, at("bolt", act))
    assert "owner: support-tools" in (desk.folder / "fleet/tenants/bolt.yaml").read_text()


def test_a_file_that_is_not_written_after_all_leaves_its_knobs_and_its_text(
    desk: Desk, edits: Callable[..., None]
) -> None:
    """Who says no to the diff loses nothing."""
    edits("""sed -i 's/: 0 /: 0.2 /; s/support-tools/search/' "$1" """)

    async def act(person: Person) -> None:
        await arm(person)
        await person.press("o")
        assert "+owner: search" in person.picture
        await person.press("n")
        assert entries(person) == {"retrieval_min_score": "0.2"}
        assert "the file was not written; the text is kept in" in person.told

    again(desk, at("bolt", act))
    assert len(kept(desk)) == 1


@pytest.mark.slow
def test_a_file_that_moved_meanwhile_is_not_written_over(
    desk: Desk, edits: Callable[..., None]
) -> None:
    """Their change stays, and so does the text."""
    edits(
        """sed -i 's/support-tools/search/' "$1"; echo 'tenant: bolt' > fleet/tenants/bolt.yaml"""
    )

    async def act(person: Person) -> None:
        await arm(person)
        await person.press("o", "y")
        assert "was changed meanwhile" in person.told

    again(desk, at("bolt", act))
    assert (desk.folder / "fleet/tenants/bolt.yaml").read_text() == "tenant: bolt\n"
    assert len(kept(desk)) == 1


def test_a_document_with_errors_is_mended_in_the_editor(
    desk: Desk, edits: Callable[..., None]
) -> None:
    """It cannot be edited in place, and can after that."""
    edits(*["""sed -i 's/rrf_k: x/rrf_k: 50/' "$1" """] * 2)
    desk.write("odd/acme.yaml", "tenant: acme\nknobs: {rrf_k: x}\n")

    async def act(person: Person) -> None:
        await person.press("e")
        assert "cannot be edited here" in person.told
        await person.press("o")
        assert "this needs the file written: :arm, then o; the text is kept in" in person.told
        assert entries(person) == {}
        await arm(person)
        await person.press("o", "y")
        await person.press("e", *"0.2", "enter")
        assert entries(person) == {"retrieval_min_score": "0.2"}

    again(desk, at("acme", act), path="odd")
    assert (desk.folder / "odd/acme.yaml").read_text() == ("tenant: acme\nknobs: {rrf_k: 50}\n")


def test_an_editor_that_fails_is_told(
    desk: Desk, edits: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen goes on."""
    edits()
    fails = {
        "/nonexistent/editor": "cannot be started",
        "false": "the editor ended with 1",
        "'": "$EDITOR is no command line",
    }

    async def act(person: Person) -> None:
        for editor, told in fails.items():
            monkeypatch.setenv("EDITOR", editor)
            await person.press("o")
            assert told in person.told
        await person.press("plus")
        assert len(entries(person)) == 1

    again(desk, at("fjord", act))
    assert kept(desk) == []


def test_where_there_is_no_terminal_to_give_it_is_said(desk: Desk) -> None:
    """As in a browser."""

    async def act(person: Person) -> None:
        await person.press("o")
        assert "an editor needs the terminal, and there is none to give it" in person.told

    again(desk, at("fjord", act))
    assert kept(desk) == []
