"""What a plot on a command line is made of: the floor in force, recorded scores, and the terminal's own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knobctl.evidence.opening import recorded

if TYPE_CHECKING:
    from knobctl.cli.asking import Surroundings
    from knobctl.cli.options import Settings
    from knobctl.fusion import Reach
    from knobctl.report.floor_view import FloorView

WIDTH: Final = 80
WIDEST: Final = 140


def floor_view(reached: Reach, around: Surroundings, evidence: str | None) -> FloorView:
    """A floor that was asked about, beside the one in force and what was recorded.

    Raises:
        InputError: If there is no such file, or a line of it is not as it must be.
    """
    from knobctl.evidence.measured import measured_for
    from knobctl.knobs.fusion_setup import fusion_setup
    from knobctl.report.floor_view import FloorView

    in_force = fusion_setup(around.catalogue, around.values, around.exact)
    measured = evidence and measured_for(
        recorded(evidence, Path.cwd()),
        reached.setup,
        tenant=around.effective.tenant if around.effective else None,
        catalogue=around.catalogue,
        values=around.values,
    )
    return FloorView(
        reached=reached, now=in_force.floor if in_force else None, measured=measured or None
    )


def plotted(settings: Settings, view: FloorView, *, title: str, plain: bool) -> str:
    """Draw a floor as wide as the terminal is, without one at 80 columns."""
    from knobctl.report.floor_plots import floor_rows
    from knobctl.report.plot_parts import Ink, colored_text_of, text_of
    from knobctl.report.reach import setup_words, wrapped

    dumb = os.environ.get("TERM") == "dumb"
    encoding = getattr(sys.stdout, "encoding", None)
    ink = Ink.ASCII if plain or dumb else Ink.for_encoding(encoding)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    rows = [*floor_rows(view, width=min(max(columns, 60), WIDEST), ink=ink)]
    drawn = colored_text_of(rows) if settings.colored(sys.stdout) else text_of(rows)
    return f"{wrapped(title + setup_words(view.reached.setup), indent='  ')}\n\n{drawn}"
