"""The contract of an importer: it detects a system's layout and reads it as pages.

An importer only reads. It never writes, neither into the source nor into the workspace.
"""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.bundles.importers.left_out import LeftOut
    from looseleaf.bundles.importers.source_folder import SourceFolder
    from looseleaf.memory.scope import Layer


@value
class SourcePage:
    """A page as a source has it, under the name that it gets here.

    Fields:
        filename: The name of the page here.
        text: The text of the page.
        sources: The files of the source that the text is from.
        layer: The layer of the page here.
        agent: The agent of the source that the page belongs to; "" where a source has one agent.
        user: The user of the source that the page belongs to; 0 where a source has one user.
        note: A remark for the report.
    """

    filename: str
    text: str
    sources: tuple[str, ...]
    layer: Layer = "agent"
    agent: str = ""
    user: int = 0
    note: str = ""


@value
class Reading:
    """A source as it was read: its pages, and every file that is not among them."""

    pages: tuple[SourcePage, ...]
    left_out: tuple[LeftOut, ...] = ()


@value
class Importer:
    """One system that memory is imported from.

    Fields:
        kind: The short name of the system, as `--from` takes it.
        title: The name of the system for people.
        example: A usual path of its memory.
        detect: Says by which files a folder is recognized; "" where it is another system's.
        read: Reads the pages of a folder.
    """

    kind: str
    title: str
    example: str
    detect: Callable[[SourceFolder], str]
    read: Callable[[SourceFolder], Reading]
