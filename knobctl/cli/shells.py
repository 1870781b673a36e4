"""Click's completion scripts, mended where `KNOB=VALUE` is one word to us and three to the shell."""

from __future__ import annotations

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

PROGRAM = "knobctl"
VARIABLE = "_KNOBCTL_COMPLETE"


class Bash(BashComplete):
    """Bash splits words at `=` and replaces only what stands behind it."""

    source_template = BashComplete.source_template.replace(
        "            COMPREPLY+=($value)\n",
        "            COMPREPLY+=($value)\n            [[ $value == *= ]] && compopt -o nospace\n",
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """Join what bash split at `=`."""
        words, incomplete = super().get_completion_args()
        joined: list[str] = []
        for word in [*words, incomplete]:
            if joined and (word == "=" or joined[-1].endswith("=")):
                joined[-1] += word
            else:
                joined.append(word)
        *args, last = joined
        name, sign, _ = last.partition("=")
        self._kept = f"{name}=" if sign else ""
        return args, last

    def format_completion(self, item: CompletionItem) -> str:
        """Leave out what bash keeps of the word."""
        return f"{item.type},{item.value.removeprefix(self._kept)}"


class Zsh(ZshComplete):
    """Zsh would put a space behind `KNOB=`."""

    source_template = (
        ZshComplete.source_template.replace(
            """            if [[ "$descr" == "_" ]]; then""",
            """            if [[ "$key" == *= ]]; then
                assignments+=("$key":"$descr")
            elif [[ "$descr" == "_" ]]; then""",
        )
        .replace(
            """    if [ -n "$completions" ]; then""",
            """    if [ -n "$assignments" ]; then
        _describe -V unsorted assignments -U -S ''
    fi

    if [ -n "$completions" ]; then""",
        )
        .replace(
            "    local -a completions\n", "    local -a completions\n    local -a assignments\n"
        )
    )


SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": FishComplete}


def teach_click() -> None:
    """Let click answer the shells with these classes."""
    add_completion_class(Bash)
    add_completion_class(Zsh)
