"""The table of actions: keys, footer, help, palette, `:` commands and the keymap derive from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from textual.binding import Binding, BindingType


class Danger(StrEnum):
    """How far an action reaches; how it is confirmed follows from it."""

    VIEW = "view"
    """It looks."""
    DRAFT = "draft"
    """It changes a draft, which lies in the user's own folder."""
    WRITE = "write"
    """It writes the tenant's file."""
    PUSH = "push"
    """It writes to the engine."""


FLEET: Final = "fleet"
TENANT: Final = "tenant"
PLAN: Final = "plan"
PUSHING: Final = "pushing"
LAB: Final = "lab"
LOG: Final = "log"
AUDIT: Final = "audit"
ASK: Final = "ask"
LISTS: Final = (FLEET, LOG, AUDIT, ASK)
"""Places with one list."""
MOVED: Final = (*LISTS, LAB, TENANT)
"""Places in which the same keys go up and down."""
EVERYWHERE: Final = "everywhere"
"""The place of an action that works on each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that a person can do."""

    id: str
    """Its name in keymaps: a public interface. The code is `action_<id>` of the screen or the app."""
    keys: tuple[str, ...] = ()
    """As Textual names them; none for what only a command does."""
    title: str
    """A word or two, for the footer."""
    help: str
    """A sentence: what it does."""
    places: tuple[str, ...]
    danger: Danger = Danger.VIEW
    command: str
    """Its `:` command."""
    aliases: tuple[str, ...] = ()
    """Other names of the command, such as `q`."""
    argument: str = ""
    """What the command takes: `tenant`, `file`; empty for nothing. The action's code takes it as well,
    and does without it where it is empty: `def action_open(self, tenant: str = "")`."""
    footer: bool = True
    """Whether the footer has room for it."""


ACTIONS: Final = (
    Action(
        id="quit",
        keys=("q",),
        title="quit",
        help="Leave; asks first where a draft or a push is open.",
        places=(EVERYWHERE,),
        command="quit",
        aliases=("q",),
        footer=False,
    ),
    Action(
        id="help",
        keys=("question_mark", "f1"),
        title="help",
        help="Say what can be done here and what is next; search, and Enter runs it.",
        places=(EVERYWHERE,),
        command="help",
        footer=False,
    ),
    Action(
        id="commands",
        keys=("colon", "ctrl+p"),
        title="command",
        help="Type a command, or a word of what it does; tenant:NAME finds a tenant.",
        places=(EVERYWHERE,),
        command="commands",
        footer=False,
    ),
    Action(
        id="fleet",
        keys=("1",),
        title="fleet",
        help="Go back to the fleet, from wherever this is; no draft is lost.",
        places=(TENANT, LAB, PLAN, PUSHING, LOG, AUDIT, ASK),
        command="fleet",
        footer=False,
    ),
    Action(
        id="tenant",
        title="tenant",
        help="Open a tenant by its name.",
        places=(EVERYWHERE,),
        command="tenant",
        argument="tenant",
        footer=False,
    ),
    Action(
        id="copy",
        keys=("y",),
        title="copy",
        help="Send what is under the cursor to the terminal's clipboard: the tenant's name, the knob's value.",
        places=(FLEET, TENANT),
        command="copy",
        footer=False,
    ),
    Action(
        id="zoom",
        keys=("z",),
        title="zoom",
        help="Give the panel that has the focus the room of all of them; again gives it back.",
        places=(EVERYWHERE,),
        command="zoom",
        footer=False,
    ),
    Action(
        id="twin",
        keys=("Y",),
        title="as command",
        help="Show the command line that does the same, and send it to the terminal's clipboard.",
        places=(EVERYWHERE,),
        command="twin",
        footer=False,
    ),
    Action(
        id="arm",
        title="arm",
        help="Let this session write, with a reason; ends after 15 minutes without a key.",
        places=(EVERYWHERE,),
        command="arm",
        argument="reason",
        footer=False,
    ),
    Action(
        id="disarm",
        title="disarm",
        help="Make the session read-only again.",
        places=(EVERYWHERE,),
        command="disarm",
        footer=False,
    ),
    Action(
        id="theme",
        title="theme",
        help="Take another theme; without a name the next one.",
        places=(EVERYWHERE,),
        command="theme",
        argument="theme",
        footer=False,
    ),
    Action(
        id="edit",
        keys=("e", "enter"),
        title="edit",
        help="Edit the knob under the cursor; what follows is said with every key.",
        places=(TENANT,),
        danger=Danger.DRAFT,
        command="edit",
        argument="knob",
    ),
    Action(
        id="undo",
        keys=("u",),
        title="undo",
        help="Take the last edit back.",
        places=(TENANT,),
        danger=Danger.DRAFT,
        command="undo",
    ),
    Action(
        id="redo",
        keys=("U",),
        title="redo",
        help="Do again what was taken back last.",
        places=(TENANT,),
        danger=Danger.DRAFT,
        command="redo",
        footer=False,
    ),
    Action(
        id="write",
        keys=("w",),
        title="write file",
        help="Write the draft into the tenant's YAML file; its diff is shown first.",
        places=(TENANT,),
        danger=Danger.WRITE,
        command="write",
    ),
    Action(
        id="diff",
        keys=("d",),
        title="diff",
        help="Show what a push would change, and how the tenant's file would be edited.",
        places=(TENANT,),
        command="diff",
    ),
    Action(
        id="unset",
        keys=("x",),
        title="unset",
        help="Send the knob back to the platform default.",
        places=(TENANT,),
        danger=Danger.DRAFT,
        command="unset",
        argument="knob",
    ),
    Action(
        id="editor",
        keys=("o",),
        title="editor",
        help="Open the tenant's file, or its live set, in $EDITOR; what is saved comes back through the same checks.",
        places=(TENANT,),
        danger=Danger.DRAFT,
        command="editor",
    ),
    Action(
        id="revert",
        keys=("r",),
        title="revert",
        help="Have the knob as the files, or the engine where there are none, have it.",
        places=(TENANT,),
        danger=Danger.DRAFT,
        command="revert",
        argument="knob",
        footer=False,
    ),
    Action(
        id="take_live",
        keys=("t",),
        title="take live",
        help="Copy what the engine holds for the knob into the draft.",
        places=(TENANT,),
        danger=Danger.DRAFT,
        command="take",
        argument="knob",
        footer=False,
    ),
    Action(
        id="rebase",
        keys=("b",),
        title="rebase",
        help="Put the edits on top of the files, or the live set, as they are now.",
        places=(TENANT,),
        danger=Danger.DRAFT,
        command="rebase",
    ),
    Action(
        id="next_value",
        keys=("space",),
        title="next value",
        help="Take the next value of a knob that has a few.",
        places=(TENANT,),
        danger=Danger.DRAFT,
        command="next",
        argument="knob",
        footer=False,
    ),
    Action(
        id="more",
        keys=("plus",),
        title="a step up",
        help="Make the number under the cursor a step larger.",
        places=(TENANT,),
        danger=Danger.DRAFT,
        command="more",
        argument="knob",
        footer=False,
    ),
    Action(
        id="less",
        keys=("minus",),
        title="a step down",
        help="Make the number under the cursor a step smaller.",
        places=(TENANT,),
        danger=Danger.DRAFT,
        command="less",
        argument="knob",
        footer=False,
    ),
    Action(
        id="reread",
        keys=("R",),
        title="read again",
        help="Read the tenant's files and its live set again.",
        places=(TENANT,),
        command="reread",
        footer=False,
    ),
    Action(
        id="ask",
        keys=("4",),
        title="ask",
        help="Ask a question under the live set and under the draft, side by side; nothing is written.",
        places=(TENANT,),
        command="ask",
        argument="question",
    ),
    Action(
        id="question",
        keys=("slash",),
        title="question",
        help="Type another question.",
        places=(ASK,),
        command="question",
        argument="question",
    ),
    Action(
        id="view",
        keys=("v",),
        title="view",
        help="Show the chunk under the cursor, what each step did, or the scores.",
        places=(ASK,),
        command="view",
    ),
    Action(
        id="audit",
        keys=("3",),
        title="audit",
        help="Show who changed what, when and why: of the tenant that is open or named, else of all.",
        places=(EVERYWHERE,),
        command="audit",
        argument="tenant",
        footer=False,
    ),
    Action(
        id="event",
        keys=("enter",),
        title="fields",
        help="Show each field of the change under the cursor, before and after.",
        places=(AUDIT,),
        command="event",
    ),
    Action(
        id="restore",
        title="back to it",
        help="Let the tenant's draft ask for the set that the change under the cursor left; nothing is pushed.",
        places=(AUDIT,),
        danger=Danger.DRAFT,
        command="restore",
        footer=False,
    ),
    Action(
        id="words",
        keys=("slash",),
        title="words",
        help="Show only the events that hold the words that you type; !word for none of it.",
        places=(AUDIT,),
        command="words",
        argument="words",
    ),
    Action(
        id="verify",
        keys=("V",),
        title="verify",
        help="Prove that the events of each tenant continue each other, from the first on.",
        places=(AUDIT,),
        command="verify",
    ),
    Action(
        id="again",
        keys=("R",),
        title="again",
        help="Read the events, or ask the question, once more.",
        places=(AUDIT, ASK),
        command="again",
    ),
    Action(
        id="log",
        keys=("L",),
        title="log",
        help="Show what was asked of the engine and what was told, each with its time.",
        places=(EVERYWHERE,),
        command="log",
        footer=False,
    ),
    Action(
        id="back",
        keys=("escape",),
        title="back",
        help="Go back one step; no draft is lost.",
        places=(TENANT, LAB, PLAN, PUSHING, LOG, AUDIT, ASK),
        command="back",
    ),
    Action(
        id="push",
        title="push",
        help="Show the plan of a push: what it changes on the engine, what to acknowledge; nothing is written by it.",
        places=(TENANT,),
        command="push",
        footer=False,
    ),
    Action(
        id="confirm",
        keys=("enter",),
        title="push",
        help="Push what is shown, once all is acknowledged; in production the tenant id is typed instead.",
        places=(PLAN,),
        danger=Danger.PUSH,
        command="confirm",
    ),
    Action(
        id="acknowledge",
        keys=("a",),
        title="acknowledge",
        help="Note that you looked at the line under the cursor and go on in spite of it.",
        places=(PLAN,),
        command="acknowledge",
    ),
    Action(
        id="next_concern",
        keys=("tab",),
        title="next",
        help="Go to the next line that is to be acknowledged.",
        places=(PLAN,),
        command="next",
    ),
    Action(
        id="keep",
        keys=("k",),
        title="keep",
        help="Keep what the engine holds for this knob: its live value goes into the draft.",
        places=(PLAN,),
        danger=Danger.DRAFT,
        command="keep",
    ),
    Action(
        id="file",
        keys=("f",),
        title="file too",
        help="Say whether the tenant's file is edited too, so that GitOps does not undo the push.",
        places=(PLAN,),
        command="file",
    ),
    Action(
        id="unchanged",
        keys=("v",),
        title="all knobs",
        help="Show the knobs that stay as they are, or fold them.",
        places=(PLAN,),
        command="unchanged",
    ),
    Action(
        id="replan",
        keys=("R",),
        title="read again",
        help="Read the engine and the files again, and plan anew.",
        places=(PLAN,),
        command="replan",
        footer=False,
    ),
    Action(
        id="plan_again",
        keys=("n",),
        title="plan again",
        help="Plan again on top of what the engine holds now; the draft is kept.",
        places=(PUSHING,),
        command="plan",
    ),
    Action(
        id="pushes",
        title="last push",
        help="Look at the last push of this session, under way or over.",
        places=(EVERYWHERE,),
        command="pushes",
        footer=False,
    ),
    Action(
        id="open",
        keys=("enter",),
        title="open",
        help="Open the tenant under the cursor.",
        places=(FLEET,),
        command="open",
        argument="tenant",
    ),
    Action(
        id="filter",
        keys=("slash",),
        title="filter",
        help="Show only tenants that fit: words, !word, state:drift, floor>1/3, set:KNOB, label:plan=pro.",
        places=(FLEET,),
        command="filter",
        argument="filter",
    ),
    Action(
        id="unfilter",
        keys=("escape",),
        title="drop filter",
        help="Take the last word of the filter away.",
        places=(FLEET,),
        command="unfilter",
    ),
    Action(
        id="mark",
        keys=("space",),
        title="mark",
        help="Mark the tenant under the cursor, or take its mark away; Y gives a command for all marked ones.",
        places=(FLEET,),
        command="mark",
    ),
    Action(
        id="unmark",
        title="unmark all",
        help="Take all marks away.",
        places=(FLEET,),
        command="unmark",
        footer=False,
    ),
    Action(
        id="sort",
        keys=("s",),
        title="sort",
        help="Sort by the next column: name, state, floor, warnings, last change, knobs set.",
        places=(FLEET,),
        command="sort",
        argument="order",
    ),
    Action(
        id="refresh",
        keys=("R",),
        title="refresh",
        help="Read the documents and the engine anew, now.",
        places=(FLEET,),
        command="refresh",
    ),
    Action(
        id="pause",
        keys=("p",),
        title="pause",
        help="Stop all work in the background, or let it go on.",
        places=(FLEET,),
        command="pause",
    ),
    Action(
        id="down",
        keys=("j", "down"),
        title="down",
        help="One line down.",
        places=MOVED,
        command="down",
        footer=False,
    ),
    Action(
        id="up",
        keys=("k", "up"),
        title="up",
        help="One line up.",
        places=MOVED,
        command="up",
        footer=False,
    ),
    Action(
        id="page_down",
        keys=("ctrl+d", "pagedown"),
        title="page down",
        help="As many lines down as are seen.",
        places=MOVED,
        command="pagedown",
        footer=False,
    ),
    Action(
        id="page_up",
        keys=("ctrl+u", "pageup"),
        title="page up",
        help="As many lines up as are seen.",
        places=MOVED,
        command="pageup",
        footer=False,
    ),
    Action(
        id="top",
        keys=("g", "home"),
        title="first",
        help="Go to the first line.",
        places=MOVED,
        command="top",
        footer=False,
    ),
    Action(
        id="bottom",
        keys=("G", "end"),
        title="last",
        help="Go to the last line.",
        places=MOVED,
        command="bottom",
        footer=False,
    ),
    Action(
        id="lab",
        keys=("2",),
        title="lab",
        help="Move a tenant's floor and see what it reaches, and what was measured of it.",
        places=(FLEET, TENANT),
        command="lab",
        argument="tenant",
    ),
    Action(
        id="floor_down",
        keys=("less_than_sign",),
        title="lower",
        help="Lower the floor by 0.01, or by what that is on the engine's own scale.",
        places=(LAB,),
        command="lower",
        footer=False,
    ),
    Action(
        id="floor_up",
        keys=("greater_than_sign",),
        title="raise",
        help="Raise the floor by 0.01.",
        places=(LAB,),
        command="raise",
    ),
    Action(
        id="floor_far_down",
        keys=("left_square_bracket",),
        title="lower .05",
        help="Lower the floor by 0.05.",
        places=(LAB,),
        command="lower-far",
        footer=False,
    ),
    Action(
        id="floor_far_up",
        keys=("right_square_bracket",),
        title="raise .05",
        help="Raise the floor by 0.05.",
        places=(LAB,),
        command="raise-far",
    ),
    Action(
        id="take",
        keys=("enter",),
        title="take",
        help="Take the floor into the draft; nothing is written or pushed.",
        places=(LAB,),
        danger=Danger.DRAFT,
        command="take",
    ),
    Action(
        id="floor",
        keys=("e",),
        title="type",
        help="Type the floor: a decimal or a fraction such as 1/3.",
        places=(LAB,),
        command="floor",
        argument="floor",
    ),
    Action(
        id="compare",
        keys=("c",),
        title="compare",
        help="Lay another tenant's evidence, or another file, under the first; again takes it away.",
        places=(LAB,),
        command="compare",
        argument="name",
    ),
    Action(
        id="table",
        keys=("t",),
        title="table",
        help="Show the numbers instead of the plots, and the plots again.",
        places=(LAB,),
        command="table",
    ),
    Action(
        id="evidence",
        title="evidence",
        help="Look at a file of recorded scores; in a plan attach a file of evidence, again takes it away.",
        places=(LAB, PLAN),
        command="evidence",
        argument="file",
        footer=False,
    ),
    Action(
        id="ascii",
        title="ascii",
        help="Draw the plots with ASCII characters, for a font without braille; again: finely.",
        places=(LAB,),
        command="ascii",
        footer=False,
    ),
    Action(
        id="export",
        title="export",
        help="Write the plots into a new .svg file, or the numbers into a new .csv file.",
        places=(LAB,),
        command="export",
        argument="file",
        footer=False,
    ),
)


def actions_of(place: str) -> list[Action]:
    """The actions that work on a place, its own first."""
    own = [one for one in ACTIONS if place in one.places]
    return own + [one for one in ACTIONS if EVERYWHERE in one.places and place not in one.places]


def action_called(id_: str) -> Action:
    """The action of an id, which must be in the table."""
    return next(one for one in ACTIONS if one.id == id_)


def bindings_of(place: str) -> list[BindingType]:
    """The keys of a place, or of the app for those that work everywhere.

    All lead to `KnobctlApp.action_perform`, which refuses in words what cannot be done now.
    """
    return [
        Binding(
            ",".join(one.keys) or f"no_key_for_{one.id}",  # a keymap needs one to replace
            f"app.perform({one.id!r})",
            one.title,
            show=one.footer,
            id=one.id,
        )
        for one in ACTIONS
        if place in one.places
    ]
