"""Every error Looseleaf raises, each with a stable code.

This module has the families and the errors that every subject shares; the others stand in the
module of their subject, such as `errors/pages.py`, so that a plain read need not build them all.
LooseleafError is never raised itself; catch it to catch everything::

    LooseleafError
    ├── Invalid (ValueError)            the request is wrong; nothing was done
    │   ├── InvalidName                 a filename, layer or id that is not valid
    │   ├── InvalidSectionName
    │   ├── InvalidDate
    │   ├── InvalidPolicy
    │   ├── InvalidSetting
    │   ├── InvalidAgent                a slug or a configuration that is not valid
    │   ├── InvalidQuery
    │   ├── InvalidUser                 a login, role or capability that is not valid
    │   ├── InvalidArgument             an operation takes no such argument, or not this value
    │   ├── InvalidModel                an unknown name, or a provider whose key is missing
    │   ├── ModelMissing                nothing names a model; the message says where to
    │   ├── ExtraMissing (ImportError)  a part that is not installed; the message is how to add it
    │   ├── EmptyMessage
    │   ├── BrokenDirective             it could not keep its contract; found at registration
    │   ├── BrokenPlugin                the same; found while the workspace opens
    │   ├── InvalidOperation            an operation that no surface could offer
    │   ├── InvalidSchedule
    │   ├── InvalidPacket               data that does not fit the schema of its type
    │   ├── InvalidStep                 a type of step, or its settings, that is not valid
    │   ├── InvalidBackup               a file that is no backup, or a damaged or hostile one
    │   ├── InvalidUpload               a file that is refused: by its type, or too many of them
    │   ├── InvalidWorkflow             a pipeline or flow that could not be run
    │   ├── InvalidArchive              a zip or folder with names, links or sizes that are not safe
    │   ├── InvalidExport               pages that cannot be exported, or not to this folder
    │   ├── InvalidImport               a source of an import that cannot be read as one
    │   ├── InvalidBundle               files that define no agent that could be installed
    │   ├── InvalidSource               a feed or document without items that can be read
    │   ├── InvalidTask                 a system task that could not run
    │   ├── InvalidTaskParameters       a task takes no such parameters, or not these values
    │   ├── TaskNotRunnable             a task that only its schedule runs
    │   ├── InvalidPrompt               a prompt without a placeholder or marker that it needs
    │   ├── UnclosedBlock               a fence or comment would swallow the new section
    │   ├── NotText                     the bytes are not UTF-8
    │   ├── LossRefused                 a replacement that loses most of a page by mistake
    │   ├── PreconditionUnsupported     the operation replaces no single version of a page
    │   ├── VersionRequired             a replacement must name the version that it replaces
    │   └── TooLarge
    │       └── UploadTooLarge
    ├── NotFound (LookupError)          there is nothing of this name
    │   ├── PageMissing
    │   ├── SectionMissing              names the sections there are
    │   ├── RevisionMissing
    │   ├── AgentMissing                names the agents there are
    │   ├── OperationMissing
    │   ├── ToolMissing                 names the tools there are
    │   ├── UserMissing
    │   ├── CredentialMissing           a token, application password or session
    │   ├── SessionMissing              a conversation, or it is someone else's
    │   ├── JobMissing                  a job, or it is someone else's
    │   ├── ScheduleMissing
    │   ├── PipelineMissing
    │   ├── FlowMissing
    │   ├── ArtifactMissing             an artifact of a job
    │   ├── FileMissing                 an uploaded file
    │   ├── BackupMissing               names the folder that was looked at
    │   ├── ImportSourceMissing         a folder or file to import from
    │   ├── BundleMissing               an agent that was not installed from a bundle
    │   ├── UpgradeMissing              an agent for which nothing of a bundle waits for approval
    │   ├── TaskMissing                 names the system tasks there are
    │   ├── TaskRunMissing              a run of a system task
    │   ├── TaskPromptMissing           names the prompts of the task
    │   └── WorkspaceMissing
    ├── Ambiguous (LookupError)         several things have the name
    │   ├── SectionAmbiguous
    │   ├── SessionAmbiguous            a shortened id that several conversations begin with
    │   ├── WorkflowAmbiguous           a slug that several pipelines or flows have
    │   └── AgentAmbiguous
    ├── Refused                         understood, and not allowed
    │   ├── Protected                   a core page: clear it instead
    │   ├── NotEditable                 a generated page
    │   ├── NameTaken                   another name differs only by case or Unicode form
    │   │   ├── PageExists              a page is moved to a name that another page has
    │   │   └── SectionTaken            another section differs only in case
    │   ├── AgentExists
    │   ├── UserExists
    │   ├── FolderTaken                 a backup is restored to a new or an empty folder alone
    │   ├── DatabaseTaken               a backup is restored to a new or an empty database alone
    │   ├── SlugTaken                   a sibling of the pipeline or flow has the slug
    │   ├── Forbidden                   a right is missing; the message says which
    │   │   ├── JobForbidden            the user of a job may no longer run it
    │   │   └── PageDenied              the agent's memory policy binds access and denies the page
    │   ├── Unauthenticated             the credential is missing or not valid
    │   │   └── LoginLinkInvalid        used before, expired or incomplete
    │   ├── ToolDenied                  the agent's policy or the call leaves the tool out
    │   ├── AssembledText               a page as a prompt shows it, to be stored as if it were new
    │   ├── DailyMemoryOff              agents may not write the journal until it is switched on
    │   ├── FolderRefused               a folder of the server that only its operator may name
    │   ├── RequestRefused              a request to another server that is not allowed
    │   ├── BundleMismatch              the agent was installed from another bundle
    │   ├── UpgradeOutdated             the parts that wait for approval have changed meanwhile
    │   ├── RepositoryUnusable          git cannot commit the pages; the message says what to do
    │   ├── SecretsFound                an export that would carry secrets; names file and line
    │   └── Unsafe                      a link, device or mount where a page should be
    ├── DirectiveFailed                 a part of the prompt that must not be missing has failed
    ├── Conflicted                      the page is not the version the writer had read
    ├── SessionBusy                     a turn of the conversation is running
    ├── TurnLost                        the turn was taken over by another; nothing was written
    ├── JobLost                         the job was taken over by another worker
    └── Unavailable                     the store cannot answer; never "not found"
        ├── WorkspaceUnavailable        its folder is gone, unmounted, or another one
        ├── Locked                      another process holds the page too long
        ├── InUse                       a file or folder that another program is writing to
        ├── HistoryMissing              the store of the page keeps no prior versions
        ├── TooBusy                     too many requests wait for the same already
        ├── TookTooLong                 a read that was stopped
        ├── DiskFull
        ├── ArtifactBroken              an artifact that is not what the job left
        ├── RequestFailed               another server did not answer, or not as it should
        └── ModelFailed                 the provider did not answer, and says why
"""

from __future__ import annotations


class LooseleafError(Exception):
    """Base class of all Looseleaf errors."""

    code = "error"

    @property
    def public_message(self) -> str:
        """The message for clients on other machines, which learn nothing of this one."""
        return str(self)


class Invalid(LooseleafError, ValueError):
    """The request is wrong as it stands; nothing was done."""

    code = "invalid"


class _InvalidThing(Invalid):
    """Something that cannot be used; each subclass has its own sentence."""

    template = ""

    def __init__(self, name: object, why: str) -> None:
        self.name, self.why = name, why
        super().__init__(self.template.format(name=name, why=why))


class InvalidName(_InvalidThing):
    """A filename, layer or id that no page can have."""

    code = "invalid_name"
    template = "{name!r} cannot be used as a name: {why}."


class InvalidDate(Invalid):
    """Not a real day written YYYY-MM-DD."""

    code = "invalid_date"

    def __init__(self, date: object) -> None:
        self.date = date
        super().__init__(f"{date!r} is not a day. Write it as YYYY-MM-DD, for example 2026-04-17.")


class InvalidSetting(_InvalidThing):
    """A settings file or variable with a value that cannot be used."""

    code = "invalid_setting"
    template = "The setting {name} cannot be used: {why}."


class InvalidArgument(_InvalidThing):
    """An argument that the operation does not take, lacks, or cannot use."""

    code = "invalid_argument"
    template = "The argument {name} cannot be used: {why}."


class ExtraMissing(Invalid, ImportError):
    """A part of Looseleaf that this installation does not have."""

    code = "extra_missing"

    def __init__(self, what: str, extra: str, package: str, line: str) -> None:
        self.what, self.extra, self.package, self.line = what, extra, package, line
        super().__init__(
            f"{what} needs the extra {extra!r}, and {package} is missing or too old. "
            f"Install it: {line}"
        )

    @property
    def public_message(self) -> str:
        """The message without the line that only the operator can type."""
        return f"{self.what} needs the extra {self.extra!r}, which this server does not have."


class NotFound(LooseleafError, LookupError):
    """There is nothing of this name."""

    code = "not_found"


class WorkspaceMissing(NotFound):
    """The folder is not a workspace."""

    code = "workspace_missing"

    def __init__(self, folder: str, reason: str = "", *, may_be_unmounted: bool = False) -> None:
        self.folder = folder
        start = f"{folder} is not a Looseleaf workspace{reason and f': {reason}'}. "
        if may_be_unmounted:
            start += "If it was one, mount its disk and try again. Only for a new one: "
        else:
            start += "Make it one: "
        super().__init__(f"{start}looseleaf init {folder}")


class Ambiguous(LooseleafError, LookupError):
    """Several things have the name."""

    code = "ambiguous"


class Refused(LooseleafError):
    """Understood, and not allowed."""

    code = "refused"


class Forbidden(Refused):
    """The principal lacks a role or a capability; nothing was done."""

    code = "forbidden"

    def __init__(self, permission: str, needed: str) -> None:
        self.permission, self.needed = permission, needed
        super().__init__(f"You may not do this: it takes {needed}.")


class Unsafe(Refused):
    """A link, device or mount stands where a page should be."""

    code = "unsafe"

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why
        super().__init__(f"{name} is not touched: {why}.")


class Conflicted(LooseleafError):
    """The page is not the version the writer had read; nothing was written."""

    code = "conflict"

    def __init__(self, filename: str, expected: str, actual: str) -> None:
        self.filename, self.expected, self.actual = filename, expected, actual
        super().__init__(
            f"{filename} has changed: expected version {expected or 'absent'}, it is "
            f"{actual or 'absent'}. Read it again, then repeat the change."
        )


class Unavailable(LooseleafError):
    """The store cannot answer now; nothing was written."""

    code = "unavailable"

    def __init__(self, what: str, why: object) -> None:
        self.what, self.why = what, why
        super().__init__(f"{what} is not available: {why}.")

    @property
    def public_message(self) -> str:
        """The message without the reason, which may name folders and addresses."""
        return f"{self.what} is not available now. The server's operator can see why."


class _PlainUnavailable(Unavailable):
    """A store that cannot answer now, for a reason that every client may know."""

    @property
    def public_message(self) -> str:
        """The whole message."""
        return str(self)


class WorkspaceUnavailable(Unavailable):
    """The folder of the workspace is gone, or it is not the one that was opened."""

    code = "workspace_unavailable"

    def __init__(self, reason: object) -> None:
        super().__init__("The workspace", reason)


class Locked(_PlainUnavailable):
    """Another process has held the page for too long."""

    code = "locked"

    def __init__(self, subject: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(subject, f"another process has held it for {seconds:g} seconds; try again")


class InUse(Unavailable):
    """Another program is writing to a file or a folder; asking again later helps."""

    code = "in_use"


class TooBusy(_PlainUnavailable):
    """Too many requests wait for the same already; nothing was done."""

    code = "too_busy"

    def __init__(self, subject: str) -> None:
        super().__init__(subject, "too many requests wait for it already; try again in a moment")


class TookTooLong(_PlainUnavailable):
    """A read that took too long and was stopped."""

    code = "took_too_long"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__("The answer", f"it took more than {seconds:g} seconds; ask for less")


class DiskFull(_PlainUnavailable):
    """There is no room for the write; the old bytes are intact."""

    code = "disk_full"

    def __init__(self, subject: str) -> None:
        super().__init__(subject, "there is no room left on the disk; the old bytes are intact")
