"""Edits of files: the smallest that bring a tenant to a target, and only of the file they were made from."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from knobctl.changes.diff import Op, diff_sets
from knobctl.changes.file_edits import FileEdit, edit_files, new_file, wish_for
from knobctl.documents.repository import Repository, open_repository
from knobctl.errors import ConflictError, InputError, RefusedError
from knobctl.knobs import load_catalogue
from tests.changes.generating import random_neighbour, random_set

if TYPE_CHECKING:
    from pathlib import Path

CATALOGUE = load_catalogue()


def opened(folder: Path, stdin: bytes = b"", path: str = ".") -> Repository:
    return open_repository(
        [path], catalogue=CATALOGUE, cwd=folder, stdin=lambda: stdin, tenant="acme"
    )


def spelled_yaml(knobs: dict[str, object]) -> str:
    return "".join(f"  {name}: {value}\n" for name, value in knobs.items()) or "  {}\n"


@pytest.mark.parametrize("seed", range(60))
def test_after_the_edit_the_documents_ask_for_the_target(tmp_path: Path, seed: int) -> None:
    """Whatever layers, own knobs, zeros and targets; and a second edit finds nothing to do."""
    random = Random(seed)
    layers = [random_set(CATALOGUE, random) for _ in range(2)]
    own = random_set(CATALOGUE, random)
    for number, layer in enumerate(layers):
        (tmp_path / f"l{number}.yaml").write_text(
            f"layer: l{number}\nknobs:\n{spelled_yaml(dict(layer))}"
        )
    (tmp_path / "acme.yaml").write_text(
        f"tenant: acme\nlayers: [l0, l1]\nknobs:\n{spelled_yaml(dict(own))}"
    )
    target = CATALOGUE.canonical(random_neighbour(CATALOGUE, own, random))

    repository = opened(tmp_path)
    (tenant,) = repository.tenants
    for edit in edit_files(repository, [wish_for(repository.effective(tenant), target)]):
        edit.write()

    again = opened(tmp_path)
    effective = again.effective(again.tenants[0])
    assert dict(effective.desired) == target
    assert not wish_for(effective, target).changes


@pytest.mark.parametrize("seed", range(200))
def test_what_a_file_leaves_out_is_always_named_as_a_reset(seed: int) -> None:
    """No silent reset: every stored knob absent from the desired set is a change, and a reset."""
    random = Random(seed)
    existing = CATALOGUE.canonical(random_set(CATALOGUE, random))
    desired = CATALOGUE.canonical(random_neighbour(CATALOGUE, existing, random))
    resets = {
        change.knob for change in diff_sets(CATALOGUE, existing, desired) if change.op is Op.RESET
    }
    assert resets == existing.keys() - desired.keys()


def edit_of(tmp_path: Path) -> FileEdit:
    (tmp_path / "acme.yaml").write_text("tenant: acme\nknobs: {rrf_k: 3}\n")
    repository = opened(tmp_path)
    (edit,) = edit_files(
        repository, [wish_for(repository.effective(repository.tenants[0]), {"rrf_k": 4})]
    )
    return edit


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """The edit was made from other bytes."""
    edit = edit_of(tmp_path)
    (tmp_path / "acme.yaml").write_text("tenant: acme\nknobs: {rrf_k: 5}\n")
    with pytest.raises(ConflictError):
        edit.write()
    assert "rrf_k: 5" in (tmp_path / "acme.yaml").read_text()


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    """A repository cannot make the tool write outside itself."""
    edit = edit_of(tmp_path)
    (tmp_path / "acme.yaml").rename(tmp_path / "outside")
    (tmp_path / "acme.yaml").symlink_to(tmp_path / "outside")
    with pytest.raises(RefusedError):
        edit.write()


def test_a_new_file_does_not_replace_one_that_appeared(tmp_path: Path) -> None:
    """Nor does it follow a link that leads nowhere."""
    path = tmp_path / "acme.yaml"
    edit = new_file(path, "acme.yaml", "acme", {"rrf_k": 3}, CATALOGUE)
    path.write_text("x")
    with pytest.raises(ConflictError):
        edit.write()
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(RefusedError):
        edit.write()


def test_what_came_from_standard_input_is_no_file(tmp_path: Path) -> None:
    """There is nothing to edit."""
    repository = opened(tmp_path, b"tenant: acme\nknobs: {rrf_k: 3}\n", "-")
    wish = wish_for(repository.effective(repository.tenants[0]), {"rrf_k": 4})
    with pytest.raises(InputError):
        edit_files(repository, [wish])
