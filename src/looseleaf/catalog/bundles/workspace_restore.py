"""Restoring a backup: the files to a new folder, the database to the place that was chosen."""

from __future__ import annotations

import os
from contextlib import closing

from looseleaf.bundles.backup.restoration import restore_backup
from looseleaf.settings import DATABASE_URL, read_variable
from looseleaf.stores.restore_target import SQLITE, RestoreTarget
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.bundles.backup.archive_reader import ArchiveContent


@value
class RestoredWorkspace:
    """A backup that was restored.

    Fields:
        root: The new folder.
        content: What the archive held.
        database: sqlite, postgresql, or none if the backup has no database.
    """

    root: str
    content: ArchiveContent
    database: str


def restore_workspace(
    archive: str,
    folder: str,
    *,
    database: str = "",
    show_progress: Callable[[int, int], None] = lambda _bytes_done, _total: None,
    show_rows: Callable[[int, int], None] = lambda _rows_done, _total: None,
) -> RestoredWorkspace:
    """Restore a backup to a new or an empty folder, and its database to an empty one.

    `database` is the address of a PostgreSQL database, or sqlite. Without it, the address of the
    environment counts; without such an address, SQLite, unless the backup has PostgreSQL.
    Progress is shown in bytes of the archive, then in rows of the database.
    """
    root = os.path.abspath(os.path.expanduser(folder))
    choice = database or read_variable(DATABASE_URL)
    target = RestoreTarget(choice, root, show_rows=show_rows, is_from_environment=not database)
    with closing(target):
        content = restore_backup(
            os.path.expanduser(archive), root, target, show_progress=show_progress
        )
    kind = SQLITE if choice in ("", SQLITE) else "postgresql"
    return RestoredWorkspace(root, content, kind if target.is_filled else "none")
