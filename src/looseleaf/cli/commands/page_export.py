"""`looseleaf memory export` and `memory publish`: pages for programs that read files."""

from __future__ import annotations

import click

from looseleaf.bundles.importers.folder_export import KEPT
from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, with_shared_options
from looseleaf.cli.formats import format_count, print_document
from looseleaf.cli.groups import command
from looseleaf.cli.output import FAILED, say
from looseleaf.operations import page_export as operations

secrets_option = click.option(
    "--allow-secrets", is_flag=True, help="Export pages that hold secrets, too."
)


@command("export", "looseleaf memory export ~/ada-pages --agent ada")
@click.argument("folder", type=click.Path())
@click.option("--replace", is_flag=True, help="Replace files that have another text.")
@secrets_option
@with_shared_options("agent", "format")
def export(options: SharedOptions, folder: str, *, replace: bool, allow_secrets: bool) -> None:
    """Write the pages as files to a folder.

    In one direction: Looseleaf does not read the files back. A file that has another text stays,
    and the command exits with 1; --replace replaces such files.
    """
    result = operations.export_pages(
        options.open(), folder, agent=options.agent, replace=replace, allow_secrets=allow_secrets
    )
    if options.json:
        print_document(to_json_value(result))
    else:
        for page in result.pages:
            if page.action == KEPT:
                say(f"Kept as it is: {page.file} (it has another text; --replace replaces it)")
        total = format_count(len(result.pages), "page")
        say(f"{total} of {result.agent} in {result.folder}, {result.written} written.")
    if result.kept:
        raise click.exceptions.Exit(FAILED)


@command("publish", "looseleaf memory publish ~/project/CLAUDE.md --agent ada")
@click.argument("path", metavar="FILE", type=click.Path())
@secrets_option
@with_shared_options("agent", "format")
def publish(options: SharedOptions, path: str, *, allow_secrets: bool) -> None:
    """Put memory into AGENTS.md or CLAUDE.md.

    The text goes into a managed block; all other text of the file stays.
    """
    result = operations.export_block(
        options.open(), path, agent=options.agent, allow_secrets=allow_secrets
    )
    if options.json:
        print_document(to_json_value(result))
    else:
        say(f"{result.path} has the memory of {result.agent} ({result.bytes} bytes).")
