"""`looseleaf pipelines files` and `looseleaf flows files`: uploaded files."""

from __future__ import annotations

import os
from base64 import b64encode
from typing import TYPE_CHECKING

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, with_shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.errors import Invalid
from looseleaf.operations import workflow_files as operations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.catalog.context import Context

_PART_BYTES = 1_048_576

add_option = click.option(
    "--add", multiple=True, type=click.Path(), metavar="PATH", help="Upload this file; repeat."
)
remove_option = click.option(
    "--remove", multiple=True, metavar="NAME", help="Delete this file; repeat."
)


@command(
    "files",
    "looseleaf pipelines files album-reviews",
    "looseleaf pipelines files album-reviews --add style-guide.pdf",
)
@click.argument("pipeline", metavar="PIPELINE")
@add_option
@remove_option
@with_shared_options("format")
def pipeline_files(
    options: SharedOptions, pipeline: str, add: tuple[str, ...], remove: tuple[str, ...]
) -> None:
    """List, upload or delete the context files of a pipeline.

    The prompts of its AI steps contain text files, and name other files.
    """
    _change_files(options, {"pipeline": pipeline}, add, remove)


@command(
    "files",
    "looseleaf flows files morning",
    "looseleaf flows files morning --add notes.txt --remove old.txt",
)
@click.argument("flow", metavar="FLOW")
@add_option
@remove_option
@with_shared_options("format")
def flow_files(
    options: SharedOptions, flow: str, add: tuple[str, ...], remove: tuple[str, ...]
) -> None:
    """List, upload or delete the files that are input of a flow."""
    _change_files(options, {"flow": flow}, add, remove)


def _change_files(
    options: SharedOptions, place: dict[str, str], add: tuple[str, ...], remove: tuple[str, ...]
) -> None:
    context = options.open()
    for path in add:
        _upload(context, place, path, is_remote=bool(options.server))
    for name in remove:
        operations.delete_workflow_file(
            context, name, flow=place.get("flow"), pipeline=place.get("pipeline")
        )
    files = operations.list_workflow_files(
        context, flow=place.get("flow"), pipeline=place.get("pipeline")
    )
    if options.json:
        print_document({"files": to_json_value(files)})
    elif files:
        rows = [(file.filename, file.size, file.modified) for file in files]
        print_table(("NAME", "BYTES", "MODIFIED"), rows)
    else:
        say("No files yet. Upload one: --add PATH")


def _upload(context: Context, place: dict[str, str], path: str, *, is_remote: bool) -> None:
    name, flow, pipeline = os.path.basename(path), place.get("flow"), place.get("pipeline")
    if is_remote:
        data = b64encode(b"".join(_read_parts(path))).decode()
        operations.upload_workflow_file(context, name, data, flow=flow, pipeline=pipeline)
        return
    folder = operations.find_folder(context, "", flow, pipeline)
    operations.receive_file(context, folder, name, _read_parts(path))


def _read_parts(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            while part := file.read(_PART_BYTES):
                yield part
    except OSError as error:
        raise Invalid(f"{path!r} cannot be read: {error.strerror}.") from error
