"""A file of a source that is not imported."""

from __future__ import annotations

from looseleaf.values import value


@value
class NotImported:
    """A file of the source that is not imported.

    Fields:
        source: The file or folder, or a line of a file.
        reason: The reason.
    """

    source: str
    reason: str
