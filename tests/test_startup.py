"""What a command line costs before it does anything."""

import subprocess
import sys

import pytest

NEVER_FOR_HELP = {
    "textual", "rich", "numpy", "deepdiff", "pydantic", "requests", "urllib3", "jsonschema",
    "jsonschema_rs", "yaml", "ruamel", "cel_expr_python", "connectrpc", "google", "sqlite3", "asyncio",
}  # fmt: skip


def loaded_after(*arguments: str) -> set[str]:
    """The top-level modules that are in memory once a command line has run."""
    program = (
        "import sys; from knobctl.cli.main import main\n"
        f"sys.argv = ['knobctl', *{list(arguments)!r}]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}), sep='\\n', file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("-h",)])
def test_help_and_version_load_nothing_heavy(arguments: tuple[str, ...]) -> None:
    """Asking for help costs click and nothing else."""
    assert loaded_after(*arguments) & NEVER_FOR_HELP == set()


def test_version_does_not_even_load_click() -> None:
    """`--version` answers before click is imported."""
    assert "click" not in loaded_after("--version")


def test_validate_of_good_files_loads_no_explaining_library(tmp_path: object) -> None:
    """The valid majority pays neither for jsonschema nor for pydantic, deepdiff, CEL or requests."""
    from pathlib import Path

    path = Path(str(tmp_path)) / "acme.yaml"
    path.write_text("tenant: acme\nknobs: {retrieval_min_score: 0.3}\n")
    heavy = {"jsonschema", "pydantic", "deepdiff", "requests", "cel_expr_python", "ruamel", "numpy"}
    assert loaded_after("validate", str(path)) & heavy == set()


def test_every_command_of_the_table_exists_and_explains_itself() -> None:
    """No name in the table is a promise: each imports, and has help with its own words."""
    import click

    from knobctl.cli.group import COMMANDS, commands

    context = click.Context(commands)
    for name in COMMANDS:
        command = commands.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(200), name
