"""A repository: which files it has, what belongs together, and what hostile folders cannot do."""

from __future__ import annotations

import errno
import gc
import os
import socket
import subprocess
import time
import tracemalloc
from pathlib import Path

import pytest

from knobctl.documents.repository import Repository, open_repository
from knobctl.errors import InputError, UsageError
from knobctl.finding import Severity


class Folder:
    """A repository in the making."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str) -> Path:
        """Write one file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        return path

    def open(
        self,
        *paths: str,
        cwd: Path | None = None,
        stdin: str = "",
        tenant: str | None = None,
        whole: bool = True,
    ) -> Repository:
        """Open it."""
        return open_repository(
            paths,
            catalogue=None,
            cwd=cwd or self.root,
            stdin=stdin.encode,
            tenant=tenant,
            whole=whole,
        )


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A repository with a settings file."""
    root = tmp_path / "repo"
    root.mkdir()
    (root / "knobctl.toml").touch()
    return Folder(root)


def names(repository: Repository) -> list[str]:
    """The judged documents."""
    return [document.name for document in repository.judged]


def rules(repository: Repository) -> list[str]:
    """The rules of the findings."""
    return [finding.rule for finding in repository.findings]


# Which files


def test_a_folder_gives_its_documents_in_a_fixed_order(folder: Folder) -> None:
    """By name, folder by folder; other suffixes are no documents."""
    for name in ("b.yaml", "a/z.yml", "a/c.json", "c.yaml"):
        folder.write(name, f'{{"tenant": "{Path(name).stem}"}}')
    folder.write("readme.md", "tenant: x")
    folder.write("a.yaml.bak", "tenant: x")
    repository = folder.open()
    assert names(repository) == ["c", "z", "b", "c"]
    assert repository.files == 4
    assert rules(repository) == ["duplicate-tenant"]


def test_hidden_and_skipped_files_are_passed_over(folder: Folder) -> None:
    """What `knobctl.toml` skips is a pattern; a pattern that names a folder covers it."""
    folder.write("knobctl.toml", 'skip = ["vendor", "**/draft-*.yaml", "charts/**"]')
    for name in (
        "a.yaml",
        "draft-a.yaml",
        "x/draft-b.yaml",
        "vendor/v.yaml",
        "charts/x/c.yaml",
        ".hidden/h.yaml",
        ".h.yaml",
    ):
        folder.write(name, f"tenant: {Path(name).stem.strip('.')}\n")
    assert names(folder.open()) == ["a"]
    assert names(folder.open("vendor/v.yaml", ".h.yaml", ".hidden")) == ["v", "h", "h"]


def test_a_file_is_read_once_however_often_it_is_named(folder: Folder) -> None:
    """Overlapping PATHs are no duplicates."""
    folder.write("a/t.yaml", "tenant: t\n")
    repository = folder.open("a/t.yaml", "a", ".", "./a/../a/t.yaml", str(folder.root / "a"))
    assert (names(repository), repository.files, repository.findings) == (["t"], 1, [])


def test_sources_are_relative_to_the_working_folder(folder: Folder, tmp_path: Path) -> None:
    """From above, from beside, from inside."""
    folder.write("tenants/t.yaml", "tenant: t\n")
    beside = folder.root / "other"
    beside.mkdir()
    for cwd, path, source in (
        (folder.root, "tenants", "tenants/t.yaml"),
        (tmp_path, "repo", "repo/tenants/t.yaml"),
        (folder.root / "tenants", ".", "t.yaml"),
        (beside, "../tenants", "../tenants/t.yaml"),
    ):
        (document,) = folder.open(path, cwd=cwd).judged
        assert document.source == source


def test_the_nearest_marked_folder_is_the_repository(folder: Folder) -> None:
    """Its layers are found wherever they lie in it; without a mark it is the PATH's own folder."""
    folder.write("tenants/eu/t.yaml", "tenant: t\nlayers: [base]\n")
    folder.write("layers/deep/base.yaml", "layer: base\nknobs: {rrf_k: 20}\n")
    repository = folder.open("tenants/eu/t.yaml")
    assert repository.root == folder.root
    assert repository.effective(repository.tenants[0]).desired == {"rrf_k": 20}
    (folder.root / "knobctl.toml").unlink()
    assert rules(folder.open("tenants/eu/t.yaml")) == ["unknown-layer"]
    (folder.root / ".git").mkdir()
    assert rules(folder.open("tenants/eu/t.yaml")) == []


def test_paths_of_two_repositories_are_refused(folder: Folder) -> None:
    """Whose layers and settings would hold?"""
    folder.write("one/knobctl.toml", "")
    folder.write("one/t.yaml", "tenant: a\n")
    folder.write("t.yaml", "tenant: b\n")
    with pytest.raises(UsageError, match="2 repositories"):
        folder.open("one/t.yaml", "t.yaml")


def test_two_unmarked_folders_read_no_more_than_themselves(tmp_path: Path) -> None:
    """The folder around both may be anything, `/tmp` for one."""
    loose = Folder(tmp_path)
    loose.write("a/t.yaml", "tenant: a\nlayers: [x]\n")
    loose.write("b/t.yaml", "tenant: b\nlayers: [y]\n")
    loose.write("a/x.yaml", "layer: x\nknobs: {}\n")
    loose.write("b/deep/y.yaml", "layer: y\nknobs: {}\n")
    loose.write("z.yaml", "layer: z\nknobs: {}\n")
    repository = loose.open("a/t.yaml", "b/t.yaml")
    assert rules(repository) == []
    assert sorted(document.name for document in repository.others) == ["x", "y"]


def test_other_peoples_files_are_counted_and_listed(folder: Folder) -> None:
    """They fail nothing, and are not lost."""
    folder.write("package.json", '{"name": "x"}')
    folder.write("t.yaml", "tenant: t\n")
    repository = folder.open()
    assert (repository.files, repository.skipped, repository.findings) == (2, ["package.json"], [])


@pytest.mark.parametrize("path", ["nowhere", "nowhere.yaml", "empty"])
def test_nothing_to_read_is_a_usage_error(folder: Folder, path: str) -> None:
    """A run over nothing must not pass."""
    (folder.root / "empty").mkdir()
    with pytest.raises(UsageError):
        folder.open(path)


def test_only_other_peoples_files_is_a_usage_error_too(folder: Folder) -> None:
    """A typing error in a pipeline's path would pass for ever."""
    folder.write("x/package.json", '{"name": "x"}')
    with pytest.raises(UsageError, match="no document of knobctl"):
        folder.open("x")


def test_standard_input_is_read_as_a_file(folder: Folder) -> None:
    """In the repository of the working folder; its layers are found there."""
    folder.write("base.yaml", "layer: base\nknobs: {rrf_k: 20}\n")
    repository = folder.open("-", stdin="tenant: t\nlayers: [base]\n")
    assert (names(repository), repository.judged[0].source, rules(repository)) == (
        ["t"],
        "<stdin>",
        [],
    )
    assert repository.layers_of(repository.tenants[0])[0].name == "base"


# What is judged, and what is read besides


def test_one_file_is_judged_with_what_it_uses(folder: Folder) -> None:
    """Faults of other files are not told; duplicates with them are."""
    folder.write("a.yaml", "tenant: a\n")
    folder.write("b.yaml", "tenant: a\nknobs: {rrf_k: 010}\n")
    folder.write("p.yaml", "policy: p\n")
    folder.write("broken.yaml", "tenant: [\n")
    repository = folder.open("a.yaml")
    assert (names(repository), repository.files) == (["a"], 1)
    assert rules(repository) == ["duplicate-tenant"]
    assert [document.name for document in repository.policies] == ["p"]
    assert repository.unread == ["broken.yaml"]


def test_the_rest_is_read_only_where_it_is_needed(folder: Folder) -> None:
    """`validate` of one file opens no other, unless a layer is missing."""
    folder.write("a.yaml", "tenant: a\n")
    folder.write("b.yaml", "tenant: b\nlayers: [x]\n")
    folder.write("x.yaml", "layer: x\nknobs: {}\n")
    assert folder.open("a.yaml", whole=False).others == []
    assert {document.name for document in folder.open("b.yaml", whole=False).others} == {"a", "x"}


def test_a_layer_that_may_stand_in_a_broken_file_says_so(folder: Folder) -> None:
    """The missing layer is the symptom, the broken file the cause."""
    folder.write("a.yaml", "tenant: a\nlayers: [x]\n")
    folder.write("x.yaml", "layer: x\nknobs: [\n")
    (finding,) = folder.open("a.yaml").findings
    assert finding.rule == "unknown-layer"
    assert finding.hint is not None
    assert "x.yaml" in finding.hint


def test_layers_that_are_missing_or_named_twice_are_told(folder: Folder) -> None:
    """At their places in the list, with the nearest name."""
    folder.write("a.yaml", "tenant: a\nlayers: [enterprse, eu, eu]\n")
    folder.write("l.yaml", "layer: enterprise\nknobs: {}\n---\nlayer: eu\nknobs: {}\n")
    missing, twice = folder.open().findings
    assert (missing.rule, missing.hint, missing.field_path) == (
        "unknown-layer",
        "did you mean enterprise?",
        "layers.0",
    )
    assert missing.primary is not None
    assert (missing.primary.line, missing.primary.column) == (2, 10)
    assert (twice.rule, twice.related[0].location.column) == ("layer-named-twice", 21)


# Claims and fleets


def test_a_tenant_is_claimed_once(folder: Folder) -> None:
    """Told at the later claim, with the first beside it."""
    folder.write("a.yaml", "tenant: t\n")
    folder.write("b.yaml", "version: 1\ntenant: t\n---\ntenant: t\n")
    found = folder.open().findings
    assert [(one.rule, one.tenant, one.primary and one.primary.line) for one in found] == [
        ("duplicate-tenant", "t", 2),
        ("duplicate-tenant", "t", 4),
    ]
    assert {one.related[0].location.file for one in found} == {"a.yaml"}


def test_a_claim_counts_within_its_fleet(folder: Folder) -> None:
    """Staging and production can share a repository, also where only one folder is named."""
    folder.write(
        "fleet.yaml",
        'fleet: prod\ninclude: ["prod/**"]\n---\nfleet: staging\ninclude: ["staging/**"]\n',
    )
    folder.write("prod/t.yaml", "tenant: t\n")
    folder.write("staging/t.yaml", "tenant: t\n")
    for paths in ((), ("prod", "staging"), ("prod/t.yaml", "staging/t.yaml")):
        for whole in (True, False):
            assert rules(folder.open(*paths, whole=whole)) == []
    folder.write("prod/u.yaml", "tenant: t\n")
    assert rules(folder.open()) == ["duplicate-tenant"]


def test_documents_outside_every_fleet_are_one_group(folder: Folder) -> None:
    """A tenant may stand there and in a fleet; twice outside is a duplicate."""
    folder.write("fleet.yaml", 'fleet: prod\ninclude: ["prod/**"]\n')
    folder.write("prod/t.yaml", "tenant: t\n")
    folder.write("a/t.yaml", "tenant: t\n")
    assert rules(folder.open()) == []
    folder.write("b/t.yaml", "tenant: t\n")
    assert rules(folder.open()) == ["duplicate-tenant"]


@pytest.mark.parametrize("kind", ["layer", "policy", "waiver", "fleet"])
def test_other_names_are_claimed_once_in_the_repository(folder: Folder, kind: str) -> None:
    """Two layers of one name would make a tenant's set depend on the order of files."""
    folder.write("a.yaml", f"{kind}: x\n---\n{kind}: x\n")
    (finding,) = folder.open().findings
    assert (finding.rule, finding.severity, finding.primary and finding.primary.line) == (
        f"duplicate-{kind}",
        Severity.ERROR,
        3,
    )


def test_the_fleet_that_applies(folder: Folder) -> None:
    """The named one, else the settings' default, else `default`, else none."""
    folder.write("t.yaml", "tenant: t\n")
    assert folder.open().fleet() is None
    folder.write("f.yaml", 'fleet: default\n---\nfleet: prod\ninclude: ["prod/**"]\n')
    folder.write("prod/u.yaml", "tenant: u\n")
    repository = folder.open()
    default = repository.fleet()
    assert default is not None
    assert default.name == "default"
    assert [tenant.name for tenant in repository.tenants_of(repository.fleet("prod"))] == ["u"]
    assert [tenant.name for tenant in repository.tenants_of(default)] == ["u", "t"]
    assert [fleet.name for fleet in repository.fleets_of(repository.tenants[0])] == [
        "default",
        "prod",
    ]
    with pytest.raises(UsageError) as caught:
        repository.fleet("prdo")
    assert caught.value.hint == "did you mean prod?"
    folder.write("knobctl.toml", 'default_fleet = "prod"')
    prod = folder.open().fleet()
    assert prod is not None
    assert prod.name == "prod"


# Hostile folders


def test_links_are_not_followed(folder: Folder, tmp_path: Path) -> None:
    """Neither to files nor to folders, inside or out: documents reach nothing outside the repository."""
    outside = Folder(tmp_path / "outside")
    outside.write("secret.yaml", "tenant: secret\n")
    folder.write("t.yaml", "tenant: t\nlayers: [secret]\n")
    (folder.root / "a.yaml").symlink_to(outside.root / "secret.yaml")
    (folder.root / "b").symlink_to(outside.root)
    (folder.root / "c").symlink_to(folder.root)
    (folder.root / "d.yaml").symlink_to(folder.root / "t.yaml")
    repository = folder.open()
    assert names(repository) == ["t"]
    assert repository.links == ["a.yaml", "b", "c", "d.yaml"]


def test_only_links_that_could_hold_documents_are_counted(folder: Folder) -> None:
    """Folders and *.yaml, whatever they lead to; not hidden or skipped ones, nor those of other names."""
    folder.write("t.yaml", "tenant: t\n")
    folder.write("knobctl.toml", "skip = ['build']\n")
    for link, target in {
        "circle": "circle",
        "circle.yaml": "circle.yaml",
        "nowhere.json": "nowhere",
        "nowhere": "somewhere",
        "readme.md": "t.yaml",
        ".hidden": ".",
        ".hidden.yaml": "t.yaml",
        "build": "/",
    }.items():
        (folder.root / link).symlink_to(target)
    assert folder.open().links == ["circle.yaml", "nowhere.json"]
    assert folder.open("t.yaml").links == ["circle.yaml", "nowhere.json"]


def test_pipes_devices_and_sockets_never_stop_a_run(folder: Folder) -> None:
    """In a folder they are no documents; named, they are refused without a read."""
    folder.write("t.yaml", "tenant: t\n")
    os.mkfifo(folder.root / "pipe.yaml")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder.root / "s.yaml"))
        assert names(folder.open()) == ["t"]
        for path in ("pipe.yaml", "s.yaml", "/dev/zero"):
            with pytest.raises(UsageError, match="no regular file"):
                folder.open(path)


def test_folders_nested_beyond_pythons_stack_are_read(folder: Folder) -> None:
    """1,200 levels: no recursion, no crash."""
    here = os.open(folder.root, os.O_RDONLY)
    try:
        for _ in range(1200):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(os.open("t.yaml", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        assert rules(folder.open()) == ["empty-document"]
    finally:
        os.close(here)
        # Python's own rmtree runs into its recursion limit here, and pytest's cleaning with it.
        subprocess.run(["rm", "-rf", folder.root / "d"], check=True)


def test_a_file_that_cannot_be_read_is_a_finding(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a crash; here the file vanishes between the listing and the read."""
    folder.write("a.yaml", "tenant: a\n")
    gone = folder.write("b.yaml", "tenant: b\n")
    listed = os.scandir

    def scandir(path: str) -> object:
        entries = list(listed(path))
        gone.unlink(missing_ok=True)
        return entries

    monkeypatch.setattr(os, "scandir", scandir)
    repository = folder.open()
    assert (names(repository), rules(repository)) == (["a"], ["unreadable-file"])


@pytest.mark.parametrize("asked", [".", "t.yaml"])
def test_a_folder_that_cannot_be_listed_is_a_finding(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    """Whatever policies lie in it are not "no policies", among the judged files or around them."""
    folder.write("t.yaml", "tenant: t\n")
    locked = folder.write("policies/p.yaml", "policy: p\n").parent
    locked.chmod(0)
    listed = os.scandir

    def scandir(path: str) -> object:
        if path == str(locked):  # to root, who may run this, nothing is locked
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    repository = folder.open(asked)
    locked.chmod(0o700)
    assert names(repository) == ["t"]
    assert rules(repository) == (["unreadable-file"] if asked == "." else [])
    [lost] = repository.lost
    assert (lost.rule, lost.primary and lost.primary.file) == ("unreadable-file", "policies/")
    assert "the folder cannot be read" in lost.message


@pytest.mark.parametrize(
    ("content", "veiled"),
    [
        (b"fleet: prod\nlimits: [\n", True),
        ("fleet: prod\n".encode("utf-16"), True),
        (b"policy: {{ .Values.policy }}\n", False),
        (b'{"tenant": 1 // a comment\n}', False),
    ],
)
def test_what_cannot_be_read_and_may_hold_a_fleet_is_known(
    folder: Folder, content: bytes, veiled: bool
) -> None:
    """Around the judged file as among the judged: no fleet that is seen is not "no limits"."""
    folder.write("t.yaml", "tenant: t\n")
    (folder.root / "x.yaml").write_bytes(content)
    for repository in (folder.open("t.yaml"), folder.open()):
        assert repository.veiled == (["x.yaml"] if veiled else [])


@pytest.mark.parametrize(
    "beginning", ['{\n  "version": 1,\n  "command": "check",', '{\n "format": "knobctl-plan",']
)
def test_what_knobctl_wrote_is_no_document_however_large(folder: Folder, beginning: str) -> None:
    """The report or the plan of a large fleet may lie beside the tenants; by name it is a mistake."""
    folder.write("t.yaml", "tenant: t\n")
    folder.write("out.json", beginning + ' "tenant": "fleet",' * 70_000)
    repository = folder.open()
    assert (names(repository), rules(repository)) == (["t"], [])
    assert (repository.skipped, repository.veiled) == (["out.json"], [])
    assert folder.open("t.yaml").unread == []
    assert rules(folder.open("out.json")) == ["yaml-limits"]


def test_big_files_around_cost_little(folder: Folder) -> None:
    """A lock file of 20 MB beside the tenants is not read whole."""
    folder.write("t.yaml", "tenant: t\n")
    with (folder.root / "lock.json").open("wb") as file:
        file.truncate(20 * 2**20)
    tracemalloc.start()
    began = time.perf_counter()
    repository = folder.open()
    assert time.perf_counter() - began < 2
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * 2**20
    assert rules(repository) == ["yaml-limits"]
    assert rules(folder.open("t.yaml")) == []


def test_undecodable_file_names_are_files(folder: Folder) -> None:
    """Linux lets a name be any bytes."""
    raw = os.fsencode(folder.root) + b"/\xff\xfe.yaml"
    Path(os.fsdecode(raw)).write_bytes(b"tenant: t\n")
    repository = folder.open()
    assert [document.source for document in repository.judged] == ["\\xff\\xfe.yaml"]
    assert repository.path_of("\\xff\\xfe.yaml") == Path(os.fsdecode(raw))


def test_many_claims_in_many_fleets_cost_little(folder: Folder) -> None:
    """3,000 tenants, each in two fleets: asked in seconds, not squared."""
    folder.write(
        "f.yaml",
        "".join(f'fleet: f{n}\ninclude: ["{n}/**"]\n---\n' for n in range(20))
        + "fleet: x\ninclude: []\n",
    )
    for fleet in range(2):
        for part in range(3):
            folder.write(
                f"{fleet}/{part}.yaml", "---\n".join(f"tenant: t{part}-{n}\n" for n in range(1000))
            )
    began = time.perf_counter()
    assert rules(folder.open()) == []
    assert time.perf_counter() - began < 8


def test_the_garbage_collector_is_on_again(folder: Folder) -> None:
    """Also after a failure."""
    folder.write("t.yaml", "tenant: t\n")
    folder.open()
    with pytest.raises(UsageError):
        folder.open("nowhere")
    assert gc.isenabled()


# Settings


def test_settings_are_read_strictly(folder: Folder) -> None:
    """Everything that the contract names."""
    folder.write("t.yaml", "tenant: t\n")
    folder.write(
        "knobctl.toml",
        """
skip = ["vendor"]
default_fleet = "prod"
[severity.zero-means-default]
severity = "error"
reason = "we never rely on defaults"
[benchmark_relevance_floor]
floors = [0.1, 0.2]
[llm.price_per_mtok]
"provider:model" = [0.2, 0.8]
""",
    )
    settings = folder.open().settings
    assert (settings.skip, settings.default_fleet) == (("vendor",), "prod")
    override = settings.severities["zero-means-default"]
    assert (override.severity, override.reason) == (Severity.ERROR, "we never rely on defaults")
    assert settings.benchmark["benchmark_relevance_floor"] == {"floors": [0.1, 0.2]}
    assert settings.benchmark["llm"]["price_per_mtok"] == {"provider:model": [0.2, 0.8]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\nskp = []\n", "knobctl.toml:2: skp is no setting; did you mean skip?"),
        ("skip = 'x'\n", "knobctl.toml:1: skip must be a list of texts"),
        ("skip = [1]\n", "knobctl.toml:1: skip.0 must be text"),
        ("a = 1\n", "knobctl.toml:1: a is no setting; known are schema, skip"),
        ("[severity.x]\nseverity = 'error'\n", "knobctl.toml:1: severity.x.reason is missing"),
        ("[severity.x]\nseverity = 'error'\nreason = ''\n", "knobctl.toml:3: severity.x.reason is"),
        ("[severity.x]\nseverity = 'error'\nreason = ' '\n", "severity.x.reason is empty"),
        ("[severity]\nx = 'error'\n", "knobctl.toml:2: severity.x must be a table"),
        ("severity = 'error'\n", "knobctl.toml:1: severity must be a table"),
        (
            "[severity.x]\nseverity = 'fatal'\nreason = 'y'\n",
            "knobctl.toml:2: severity.x.severity must be error, warning or info; only a waiver",
        ),
        (
            "[severity.x]\nlevel = 1\nseverity = 'info'\nreason = 'y'\n",
            "knobctl.toml:2: severity.x.level is no",
        ),
        ("skip = [\n", "knobctl.toml is no TOML: "),
        ("schema = '../x.json'\n", "lies outside the repository"),
        ("schema = '/etc/passwd'\n", "lies outside the repository"),
    ],
)
def test_a_wrong_setting_is_named_with_its_line(folder: Folder, text: str, words: str) -> None:
    """An unknown key is an error, not a wish that nobody hears."""
    folder.write("t.yaml", "tenant: t\n")
    folder.write("knobctl.toml", text)
    with pytest.raises(InputError) as caught:
        folder.open()
    assert words in caught.value.message


def test_a_repository_brings_its_own_schema(folder: Folder) -> None:
    """Knobs of another engine, found by the settings."""
    folder.write(
        "engine.json",
        '{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties":'
        ' {"floor": {"type": "number", "minimum": 0, "maximum": 1, "x-knob": {"default": 0.5}}}}',
    )
    folder.write("knobctl.toml", 'schema = "engine.json"\nskip = ["engine.json"]\n')
    folder.write("t.yaml", "tenant: t\nknobs: {floor: 0.2}\n")
    repository = folder.open()
    assert [knob.name for knob in repository.catalogue] == ["floor"]
    assert repository.effective(repository.tenants[0]).values == {"floor": 0.2}
