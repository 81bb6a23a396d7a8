"""`looseleaf backup …` and `looseleaf restore`: the whole workspace as one archive, and back."""

from __future__ import annotations

import os
import shlex

import click

from looseleaf.bundles.backup.restoration import restore_backup
from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, require_local, shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import FAILED, say, show_progress, warn
from looseleaf.operations import backups as operations
from looseleaf.operations import page_commits
from looseleaf.times import DAY_SECONDS, format_time

_MEGABYTE = 1_000_000
_MOST_NAMED = 5


@command("create", "looseleaf backup create", "looseleaf backup create /mnt/disk/backups")
@click.argument("folder", required=False, default="", type=click.Path())
@shared_options("format")
def create(options: SharedOptions, folder: str) -> None:
    """Write a backup; others may write meanwhile.

    Into FOLDER, or the setting backup_folder: one tar archive with the pages, their history, the
    agents, the database and the settings. It holds password and token hashes: keep it private.
    """
    result = operations.create_backup(options.open(), folder=folder)
    if options.json:
        print_document(to_json_value(result))
        return
    say(f"Wrote {result.path}: {result.files} files, {_format_size(result.size)}.")
    for name in result.left_out[:_MOST_NAMED]:
        warn(f"Not as it should be: {name}")
    if len(result.left_out) > _MOST_NAMED:
        warn(f"And {len(result.left_out) - _MOST_NAMED} more; LEFT-OUT.txt in the archive has all.")
    if result.database == operations.POSTGRESQL:
        warn("The PostgreSQL database is not in it: back it up with pg_dump, before the backup.")


@command("list", "looseleaf backup list", "looseleaf backup list /mnt/disk/backups --format json")
@click.argument("folder", required=False, default="", type=click.Path())
@shared_options("format")
def list_backups(options: SharedOptions, folder: str) -> None:
    """List the backups, newest first.

    In FOLDER, or the setting backup_folder. A backup that is not whole was cut off on its way.
    """
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
            _format_size(backup.size),
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
@shared_options("format")
def verify(options: SharedOptions, archive: str) -> None:
    """Read a whole backup, and compare every hash.

    ARCHIVE is a path, or a name in the setting backup_folder. Exits with 1 where something is not
    in order.
    """
    folder, name = os.path.split(os.path.expanduser(archive))
    if not folder and os.path.isfile(name):
        folder = os.getcwd()
    result = operations.verify_backup(options.open(), name, folder=folder)
    if options.json:
        print_document(to_json_value(result))
    elif result.fault:
        say(f"{name} is not in order: {result.fault}.")
    else:
        size = _format_size(result.content_bytes)
        say(f"{name} is whole: {result.files} files, {size}, of {result.created}.")
    if result.fault:
        raise click.exceptions.Exit(FAILED)


@command("commit", "looseleaf backup commit", "looseleaf backup commit --format json")
@shared_options("format")
def commit(options: SharedOptions) -> None:
    """Commit the pages that changed to git.

    To the repository that the workspace lies in, with who changed what and why. Other files, and
    what you have staged, stay as they are.
    """
    result = page_commits.commit_pages(options.open())
    if options.json:
        print_document(to_json_value(result))
    elif not result.commit:
        say("No page has changed since the last commit.")
    else:
        branch = f" on {result.branch}" if result.branch else ""
        say(f"Committed {result.commit[:12]}{branch}: {result.subject}")


@command("restore", "looseleaf restore backups/looseleaf-20260417T093000Z.tar ~/memory-restored")
@click.argument("archive", type=click.Path())
@click.argument("folder", type=click.Path())
@shared_options("format")
def restore(options: SharedOptions, archive: str, folder: str) -> None:
    """Restore a backup to a new folder.

    FOLDER is new or empty; it appears when every hash was compared, whole or not at all. Tokens and
    passwords of the backup are valid again.
    """
    require_local(options, "it makes a folder", by_option=True)
    last_step = -1

    def show(done: int, total: int) -> None:
        nonlocal last_step
        step = done * 20 // max(total, 1)
        if step > last_step:
            last_step = step
            show_progress("Restoring, in MB", done // _MEGABYTE, total // _MEGABYTE)

    content = restore_backup(os.path.expanduser(archive), folder, show_progress=show)
    path = os.path.abspath(os.path.expanduser(folder))
    description = content.description
    if options.json:
        document = {"root": path, "files": content.files, "content_bytes": content.content_bytes}
        document |= {"created": format_time(description.created), "database": description.database}
        print_document({**document, "left_out": list(content.left_out)})
        return
    say(f"Restored {content.files} files of {format_time(description.created)} to {path}.")
    if description.database == operations.POSTGRESQL:
        warn("The backup has no database: restore it with pg_restore, then set database_url.")
    for name in content.left_out[:_MOST_NAMED]:
        warn(f"When the backup was made: {name}")
    say(f"Check it: looseleaf --root {shlex.quote(path)} doctor --verify")


def format_age(seconds: int) -> str:
    """Write an age for people: 5 minutes, 3 hours, 2 days."""
    for unit, length in (("day", DAY_SECONDS), ("hour", 3_600), ("minute", 60)):
        count = seconds // length
        if count:
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a minute"


def _format_size(size: int) -> str:
    return f"{size / _MEGABYTE:,.1f} MB"
