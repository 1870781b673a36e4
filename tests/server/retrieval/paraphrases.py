"""Twenty statements and twenty questions that mean the same and share no word: ours, written for these tests."""

from __future__ import annotations

PAIRS = [
    ("The cat slept on the sofa all afternoon.", "where did a feline nap?"),
    (
        "Our physician prescribed antibiotics for the infection.",
        "what medicine did a doctor give against germs?",
    ),
    (
        "The automobile would not start because its battery was flat.",
        "why did a car fail to turn on?",
    ),
    ("Employees receive their salary on the final Friday.", "when do workers get paid?"),
    ("The vessel sank during a violent storm.", "how was a ship lost at sea in bad weather?"),
    ("Children learn reading at primary school.", "where are kids taught literacy?"),
    ("The firm dismissed forty staff members.", "how many people lost jobs at a company?"),
    (
        "Scientists discovered water beneath the Martian surface.",
        "what did researchers find underground on a red planet?",
    ),
    ("A thief stole jewellery from the museum.", "who robbed gems out of an exhibition?"),
    (
        "The bakery sells fresh bread every morning.",
        "which shop offers newly baked loaves at dawn?",
    ),
    ("Heavy rain flooded several villages.", "where did a downpour put small towns under water?"),
    (
        "The orchestra performed a symphony by Mozart.",
        "which musicians played a classical composition?",
    ),
    ("Turn off the lamp before you go to bed.", "what should one do about lights when retiring?"),
    (
        "The judge sentenced the criminal to five years in prison.",
        "how long must a convict stay in jail?",
    ),
    (
        "Grandmother knits woollen sweaters for winter.",
        "who makes warm pullovers against cold seasons?",
    ),
    (
        "The airline cancelled all flights to Lisbon.",
        "why can nobody travel by plane towards Portugal?",
    ),
    ("Bees gather nectar from blossoms.", "how do insects collect sugar out of flowers?"),
    (
        "The government raised taxes on fuel.",
        "what did politicians make petrol more expensive with?",
    ),
    ("The programmer repaired a fault in the software.", "who fixed a bug within an application?"),
    ("She purchased a house near the beach.", "what did a woman buy close to shore?"),
]
PREFACE = "In plain words: "
"""Before each question, so that BM25 has something to return and is live."""
NOISE = [
    "Plain words win elections.",
    "Tickets cost nine crowns.",
    "The choir rehearses on Tuesdays.",
]
"""The first answers the preface; the others are the newest chunks, and about nothing that is asked."""
