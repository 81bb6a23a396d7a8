"""`looseleaf backup …` and `looseleaf restore`: the whole workspace as one archive, and back."""

from __future__ import annotations

import os
import shlex
from functools import partial

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, require_local, with_shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import DefaultGroup, command
from looseleaf.cli.output import FAILED, say, show_progress, warn
from looseleaf.files.file_size import choose_unit, format_size
from looseleaf.times import DAY_SECONDS, format_time

_MOST_NAMED = 5


@command("create", "looseleaf backup create", "looseleaf backup create /mnt/disk/backups")
@click.argument("folder", required=False, default="", type=click.Path())
@with_shared_options("format")
def create(options: SharedOptions, folder: str) -> None:
    """Write a backup; others may write at the time.

    One tar archive in FOLDER, or in the setting backup_folder, with the pages, their history, the
    agents, the database and the settings. It holds password and token hashes: keep it private.
    """
    from looseleaf.operations import backups as operations

    result = operations.create_backup(options.open(), folder=folder)
    if options.json:
        print_document(to_json_value(result))
        return
    say(f"Wrote {result.path}: {result.files} files, {format_size(result.size)}.")
    for name in result.left_out[:_MOST_NAMED]:
        warn(f"Not as it should be: {name}")
    if len(result.left_out) > _MOST_NAMED:
        warn(f"And {len(result.left_out) - _MOST_NAMED} more; LEFT-OUT.txt in the archive has all.")


@command("list", "looseleaf backup list", "looseleaf backup list /mnt/disk/backups --format json")
@click.argument("folder", required=False, default="", type=click.Path())
@with_shared_options("format")
def list_backups(options: SharedOptions, folder: str) -> None:
    """List the backups, newest first.

    In FOLDER, or in the setting backup_folder. A backup that is not whole was cut off while it was
    written or copied.
    """
    from looseleaf.operations import backups as operations

    backups = operations.list_backups(options.open(), folder=folder)
    if options.json:
        print_document({"backups": to_json_value(backups)})
        return
    if not backups:
        say("There is no backup yet. Make one: looseleaf backup")
        return
    rows = [
        (
            backup.name,
            backup.created,
            format_age(backup.age),
            format_size(backup.size),
            backup.workspace_name or ("this one" if backup.is_own else backup.workspace[:8]),
            "yes" if backup.is_whole else "NO",
        )
        for backup in backups
    ]
    print_table(("NAME", "CREATED", "AGE", "SIZE", "WORKSPACE", "WHOLE"), rows, shrink="NAME")


@command(
    "verify",
    "looseleaf backup verify looseleaf-20260417T093000Z.tar",
    "looseleaf backup verify /mnt/disk/backups/looseleaf-20260417T093000Z.tar",
)
@click.argument("archive", type=click.Path())
@with_shared_options("format")
def verify(options: SharedOptions, archive: str) -> None:
    """Read a whole backup, and compare every hash.

    ARCHIVE is a path, or a name in the setting backup_folder. Exits with 1 if the backup is not in
    order.
    """
    from looseleaf.operations import backups as operations

    folder, name = os.path.split(os.path.expanduser(archive))
    if not folder and os.path.isfile(name):
        folder = os.getcwd()
    result = operations.verify_backup(options.open(), name, folder=folder)
    if options.json:
        print_document(to_json_value(result))
    elif result.fault:
        say(f"{name} is not in order: {result.fault}.")
    else:
        size = format_size(result.content_bytes)
        say(f"{name} is whole: {result.files} files, {size}, of {result.created}.")
    if result.fault:
        raise click.exceptions.Exit(FAILED)


@command(
    "restore",
    "looseleaf restore backups/looseleaf-20260417T093000Z.tar ~/memory-restored",
    "looseleaf restore looseleaf-20260417T093000Z.tar ~/memory-restored --database sqlite",
)
@click.argument("archive", type=click.Path())
@click.argument("folder", type=click.Path())
@click.option(
    "--database",
    metavar="URL|sqlite",
    default="",
    help="An empty PostgreSQL database, or an SQLite file in FOLDER; else LOOSELEAF_DATABASE_URL.",
)
@with_shared_options("format")
def restore(options: SharedOptions, archive: str, folder: str, database: str) -> None:
    """Restore a backup to a new folder.

    FOLDER must be new or empty; it is created whole, after every hash was compared, or not at all.
    Tokens and passwords of the backup are valid again.
    """
    from looseleaf.catalog.bundles.workspace_restore import restore_workspace
    from looseleaf.operations import backups as operations

    require_local(options, "it makes a folder", by_option=True)
    result = restore_workspace(
        archive,
        folder,
        database=database,
        show_progress=operations.in_steps(_show_bytes),
        show_rows=operations.in_steps(partial(show_progress, "Filling the database, in rows")),
    )
    content, path = result.content, result.root
    description = content.description
    if options.json:
        document = {"root": path, "files": content.files, "content_bytes": content.content_bytes}
        document |= {"created": format_time(description.created), "database": result.database}
        print_document({**document, "left_out": list(content.left_out)})
        return
    say(f"Restored {content.files} files of {format_time(description.created)} to {path}.")
    if result.database == operations.POSTGRESQL:
        say("Filled the PostgreSQL database, and compared every row.")
    elif result.database != description.database:
        if result.database == operations.NO_DATABASE:
            warn("The backup has no database: an older Looseleaf left it to pg_dump.")
        else:
            say("Filled a new SQLite database, and compared every row.")
    for name in content.left_out[:_MOST_NAMED]:
        warn(f"When the backup was made: {name}")
    say(f"Check it: looseleaf --root {shlex.quote(path)} doctor --verify")


def _show_bytes(bytes_done: int, total: int) -> None:
    unit, factor = choose_unit(total)
    show_progress(f"Restoring, in {unit}", bytes_done // factor, total // factor)


def format_age(seconds: int) -> str:
    """Write an age for people: 5 minutes, 3 hours, 2 days."""
    for unit, length in (("day", DAY_SECONDS), ("hour", 3_600), ("minute", 60)):
        count = seconds // length
        if count:
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a minute"


backup_group = DefaultGroup(
    "backup", "Back up the workspace, and see the backups.", create, list_backups, verify
)
