"""The files that a revision has just as the working folder has them: read and understood once, for both."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.documents.sources import Revision


class Unchanged:
    """What was read of the working folder, for a revision of it."""

    def __init__(self, now: Repository, revision: Revision) -> None:
        """Hold the two against each other.

        Args:
            now: The working folder as it was read.
            revision: The files of the earlier state.
        """
        self._now, self._revision = now, revision
        self._sources = {name: source for source, name in now.names.items()}
        self._lost = {finding.primary.file for finding in now.lost if finding.primary}
        self._others: dict[str, list[Document]] = {}
        for document in now.others:
            self._others.setdefault(document.source, []).append(document)

    def give(self, name: str, to: Repository, *, judged: bool) -> bool:
        """Give a repository the documents of a file.

        Args:
            name: The file.
            to: The revision as it is read.
            judged: Whether the file is among those that were asked about.

        Returns:
            Whether it is the same in both; if not, nothing was given.
        """
        now, source = self._now, self._sources.get(name)
        text = now.texts.get(source) if source is not None else None
        if source is None or text is None or judged != (name in now.reading):
            return False
        if not self._revision.has_same(name, text) or (not judged and source in self._lost):
            return False
        if judged:
            found = to.reading[name] = now.reading[name]
            to.files += 1
            to.findings += found.findings
            to.take(found.documents, judged=True)
        else:
            to.take(self._others.get(source, ()), judged=False)
        to.names[source] = name
        to.texts[source] = text
        to.shared.add(source)
        return True
