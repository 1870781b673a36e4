"""Rewrites of a query, without a language model: the same query and the same texts give the same rewrites."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_FEEDBACK_TERMS: Final = 6
"""Most words that one rewrite takes from texts."""
_FUNCTION_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        "a about above after again all also am an and any are as at be because been before being below between both"
        " but by can could did do does doing done during each few for from further get give had has have having he her"
        " here hers him his how i if in into is it its itself just like made make many may me might more most much must"
        " my no nor not of off on once one only or other our out over own please same say she should since so some such"
        " tell than that the their them then there these they this those through to too two under until up upon us use"
        " used very was we were what when where whether which while who whom whose why will with would you your",
    )
)


def rewrites(query: str, best_texts: Sequence[str], most: int) -> tuple[str, ...]:
    """Rewrite a query in several ways, the most promising first.

    Args:
        query: What was asked.
        best_texts: The texts of the best lexical rows, best first: what they say most often may be what
            the query means (pseudo-relevance feedback).
        most: Most rewrites.

    Returns:
        Rewrites that differ from the query and from each other by more than case and order of words.
    """
    seen = {frozenset(_words(query))}
    found: list[str] = []
    for words in _ways(keywords(query), best_texts):
        if len(found) == most:
            break
        if words and frozenset(words) not in seen:
            seen.add(frozenset(words))
            found.append(" ".join(words))
    return tuple(found)


def keywords(text: str) -> list[str]:
    """The words of a text that carry meaning, each once, in their order."""
    return list(dict.fromkeys(word for word in _words(text) if word not in _FUNCTION_WORDS))


def feedback(texts: Sequence[str], known: Sequence[str]) -> list[str]:
    """Words that several texts share, or one says often, and that are not known yet; the best first."""
    texts_with: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for text in texts:
        words = [word for word in _words(text) if _may_feed_back(word)]
        texts_with.update(set(words))
        times.update(words)
    for word in known:
        times.pop(word, None)
    in_order = sorted(times, key=lambda word: (-texts_with[word], -times[word], word))
    return in_order[:_FEEDBACK_TERMS]


def _ways(core: list[str], texts: Sequence[str]) -> Iterator[list[str]]:
    yield core
    shared = feedback(texts, core)
    yield core + shared[: _FEEDBACK_TERMS // 2]
    yield core + shared
    for text in texts:
        yield core + feedback([text], core)
    yield shared
    for text in texts:
        yield feedback([text], core)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _may_feed_back(word: str) -> bool:
    return len(word) > 2 and word not in _FUNCTION_WORDS and not word.isdecimal()
