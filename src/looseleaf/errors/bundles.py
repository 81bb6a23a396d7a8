"""Errors of bundles, imports, exports and backups."""

from __future__ import annotations

from looseleaf.errors import Invalid, NotFound, Refused, _InvalidThing


class InvalidBackup(Invalid):
    """A file that is no backup, or a backup that is damaged or was made to do harm."""

    code = "invalid_backup"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"The archive cannot be used as a backup: {why}.")


class InvalidExport(Invalid):
    """Pages or an agent that cannot be exported, or not to this place; nothing was written."""

    code = "invalid_export"


class InvalidImport(Invalid):
    """A source of an import that cannot be read as one; nothing was imported."""

    code = "invalid_import"


class InvalidArchive(_InvalidThing):
    """An archive or a folder of files that is not safe to unpack; nothing was unpacked."""

    code = "invalid_archive"
    template = "The archive cannot be used: {name}: {why}."


class InvalidBundle(_InvalidThing):
    """Files of a bundle that cannot be read, or that define nothing that can be installed."""

    code = "agent_bundle_parse_failed"
    template = "The bundle cannot be used: {name}: {why}."


class ImportSourceMissing(NotFound):
    """There is no such folder or file to import from."""

    code = "import_source_missing"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"There is no folder or file {path} to import from.")


class BackupMissing(NotFound):
    """There is no backup of this name."""

    code = "backup_not_found"

    def __init__(self, name: str, folder: str) -> None:
        self.name, self.folder = name, folder
        super().__init__(f"There is no backup {name!r} in {folder}.")


class BundleMissing(NotFound):
    """The agent was not installed from a bundle."""

    code = "bundle_not_installed"

    def __init__(self, agent: str) -> None:
        self.agent = agent
        super().__init__(f"The agent {agent} was not installed from a bundle.")


class UpgradeMissing(NotFound):
    """Nothing of a bundle waits for approval."""

    code = "bundle_upgrade_not_found"

    def __init__(self, agent: str) -> None:
        self.agent = agent
        super().__init__(f"Nothing of a bundle waits for approval for the agent {agent}.")


class FolderRefused(Refused):
    """A folder of the server's file system that only its operator may name."""

    code = "folder_refused"

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path} is not touched: {why}.")


class FolderTaken(Refused):
    """A folder that has files of its own, which a restore would mix with those of a backup."""

    code = "folder_taken"

    def __init__(self, folder: str) -> None:
        self.folder = folder
        super().__init__(
            f"{folder} is not empty. Restore to a new or an empty folder, then compare the two."
        )


class DatabaseTaken(Refused):
    """A database that has tables already, which a restore would mix with those of a backup."""

    code = "database_taken"

    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(
            f"The database is not empty: it has the table {table}. Restore to a new database."
        )


class RepositoryUnusable(Refused):
    """Git cannot commit here: it is missing, the folder is in no repository, or it refused."""

    code = "repository_unusable"

    def __init__(self, subject: str, why: str) -> None:
        self.subject, self.why = subject, why
        super().__init__(f"{subject} cannot be used: {why}.")


class BundleMismatch(Refused):
    """The agent was installed from another bundle than the one that is to upgrade it."""

    code = "install_bundle_slug_mismatch"

    def __init__(self, agent: str, installed: str, new: str) -> None:
        self.agent = agent
        super().__init__(
            f"The agent {agent} was installed from the bundle {installed}, and this one is {new}. "
            "Install it as another agent: give it a slug of its own."
        )


class UpgradeOutdated(Refused):
    """Parts of an agent were changed since an upgrade of them was put up for approval."""

    code = "bundle_upgrade_outdated"

    def __init__(self, agent: str, keys: tuple[str, ...]) -> None:
        self.agent, self.keys = agent, keys
        super().__init__(
            f"{', '.join(keys)} of {agent} changed since the upgrade was planned, so that nothing "
            "was applied. Upgrade with the bundle again to see the new plan, or reject these parts."
        )


class SecretsFound(Refused):
    """Files to export hold secrets; the error names the places, not the values."""

    code = "secrets_found"

    def __init__(self, places: tuple[str, ...], allow: str) -> None:
        self.places = places
        listing = "; ".join(places[:20]) + ("; …" if len(places) > 20 else "")
        super().__init__(
            f"Nothing was exported, since secrets stand in {listing}. Take them out, or {allow}."
        )
