"""The contract of an importer: it detects a system's layout and reads it as pages.

An importer only reads. It never writes, neither into the source nor into the workspace.
"""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.bundles.importers.left_out import NotImported
    from looseleaf.bundles.importers.source_folder import SourceFolder
    from looseleaf.memory.scope import Layer
    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline


@value(kw_only=True)
class SourcePage:
    """A page as a source has it, under the name that it gets here.

    Fields:
        filename: The name of the page here.
        text: The text of the page.
        sources: The files of the source that the text is from.
        layer: The layer of the page here.
        agent: The agent of the source that the page belongs to, or "" if a source has one agent.
        user: The user of the source that the page belongs to, or 0 if a source has one user.
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
class SourcePipeline:
    """A pipeline of a source, with its flows; all ids are those of the source.

    Fields:
        pipeline: The pipeline.
        flows: Its flows, whose schedules are paused.
        agent: The agent of the source that it belongs to; "" if a source has one agent.
    """

    pipeline: Pipeline
    flows: tuple[Flow, ...] = ()
    agent: str = ""


@value
class SourceUpload:
    """An uploaded file of a pipeline or flow.

    Fields:
        pipeline: The id of the pipeline in the source.
        flow: The id of the flow in the source; 0 for a context file of the pipeline.
        name: The name of the file.
        content: Its bytes.
        source: The file of the source.
    """

    pipeline: int
    flow: int
    name: str
    content: bytes
    source: str


@value
class SourceContent:
    """The content of a source, and the files in it that are not imported."""

    pages: tuple[SourcePage, ...]
    left_out: tuple[NotImported, ...] = ()
    pipelines: tuple[SourcePipeline, ...] = ()
    uploads: tuple[SourceUpload, ...] = ()


@value
class Importer:
    """One system that memory is imported from.

    Fields:
        kind: The short name of the system, as `--from` takes it.
        title: The name of the system for people.
        example: A usual path of its memory.
        detect: Says by which files a folder is recognized, or "" if it is another system's.
        read: Reads the pages of a folder.
    """

    kind: str
    title: str
    example: str
    detect: Callable[[SourceFolder], str]
    read: Callable[[SourceFolder], SourceContent]
