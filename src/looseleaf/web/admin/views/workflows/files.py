"""Uploaded files of pipelines and flows: the list, the limits, and a file of a form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import Invalid
from looseleaf.values import value
from looseleaf.web.flow_files import store_upload

if TYPE_CHECKING:
    from looseleaf.operations.workflow_files import WorkflowFile
    from looseleaf.plugins.admin_pages import Visit

MOST = 200  # files on one page


@value
class FileForm:
    """The files of a pipeline or flow, and what its form takes."""

    kind: str  # pipeline or flow
    id: int
    files: tuple[WorkflowFile, ...]
    most_bytes: int
    types: tuple[str, ...]
    command: str  # that uploads a file at the command line


def build_file_form(visit: Visit, kind: str, identifier: int, command: str) -> FileForm:
    """List the files of a pipeline or flow, with the limits of the settings."""
    files = visit.run("datamachine/list-flow-files", **{kind: identifier})
    settings = visit.context.settings
    return FileForm(
        kind,
        identifier,
        tuple(files[:MOST]),
        settings.max_upload_bytes,
        settings.upload_types,
        command,
    )


def store_file(visit: Visit, kind: str, identifier: int) -> str:
    """Store the file of a form, read in parts, and return the notice about it."""
    if visit.file is None or not visit.file.name:
        raise Invalid("Choose a file first.")
    file = store_upload(
        visit.context, {"file": visit.file.name, kind: identifier}, visit.file.content
    )
    return f"{file.filename} is uploaded: {file.size:,} bytes."
