"""Documents of tenants that the index knows: nothing of their files is read until somebody looks closer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.documents.model import Document, Kind
from knobctl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.documents.index import Row
    from knobctl.documents.tree import Text, Tree, Value
    from knobctl.knobs import Catalogue, KnobValue


class FiledDocument(Document):
    """A tenant's document as the index has it; its text and places come from the file, when asked for."""

    __slots__ = ("_read", "_whole", "content", "row", "source")
    row: Row
    content: str
    """The name that Git gives to the bytes of its file."""
    name: str
    source: str
    _read: Callable[[FiledDocument], Document | None]
    _whole: Document | None
    kind = Kind.TENANT
    index = 0
    # What refuses to change a document is asked at each assignment, and would take most of the time.
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    def __init__(
        self,
        row: Row,
        content: str,
        source: str,
        read: Callable[[FiledDocument], Document | None],
    ) -> None:
        """Take what the index knows.

        Args:
            row: What stands in the file.
            content: The name of its bytes.
            source: The file, as findings name it.
            read: Reads the file's one document; None where it is another one by now.
        """
        self.row = row
        self.content = content
        self.source = source
        self._read = read
        self._whole = None
        self.name = row.tenant

    @property
    def _document(self) -> Document:
        """The document as it stands in the file.

        Raises:
            InputError: If somebody has changed the file since this run began.
        """
        whole = self._whole
        if whole is None:
            whole = self._read(self)
            if whole is None:
                raise InputError(f"{self.source} changed while it was read", hint="run it again")
            self._whole = whole
        return whole

    def forget(self) -> None:
        """Let go of what its file says: whoever looks closer reads it again."""
        self._whole = None

    @property
    def value(self) -> Mapping[str, Value]:
        """See `Document.value`."""
        return self._document.value

    @property
    def text(self) -> Text:
        """See `Document.text`."""
        return self._document.text

    @property
    def tree(self) -> Tree:
        """See `Document.tree`."""
        return self._document.tree

    @property
    def owner(self) -> str | None:
        """See `Document.owner`."""
        return self.row.head.owner

    @property
    def evidence(self) -> tuple[str, ...]:
        """See `Document.evidence`."""
        return self.row.head.evidence

    @property
    def labels(self) -> Mapping[str, str]:
        """See `Document.labels`."""
        return self.row.head.labels

    @property
    def layers(self) -> tuple[str, ...]:
        """See `Document.layers`."""
        return self.row.head.layers

    @property
    def is_known_sound(self) -> bool:
        """See `Document.is_known_sound`."""
        return True

    def values(self, _catalogue: Catalogue) -> Mapping[str, KnobValue]:
        """See `Document.values`."""
        return self.row.knobs
