"""Every error Looseleaf raises, each with a stable code.

This module has the families and the errors of memory; the others stand in the module of their
subject, such as `errors/workflows.py`, so that a plain read need not build them. LooseleafError is
never raised itself; catch it to catch everything::

    LooseleafError
    ├── Invalid (ValueError)            the request is wrong; nothing was done
    │   ├── InvalidName                 a filename, layer or id that cannot be
    │   ├── InvalidSectionName
    │   ├── InvalidDate
    │   ├── InvalidPolicy
    │   ├── InvalidSetting
    │   ├── InvalidAgent                a slug or a configuration that cannot be
    │   ├── InvalidQuery
    │   ├── InvalidUser                 a login, role or capability that cannot be
    │   ├── InvalidArgument             an operation takes no such argument, or not this value
    │   ├── InvalidModel                a name nobody answers to, or a key that is missing
    │   ├── ModelMissing                nothing names a model; the message says where to
    │   ├── ExtraMissing (ImportError)  a part that is not installed; the message is how to add it
    │   ├── EmptyMessage
    │   ├── BrokenDirective             it could not keep its contract; found at registration
    │   ├── BrokenPlugin                the same; found while the workspace opens
    │   ├── InvalidOperation            one that no surface could offer
    │   ├── InvalidSchedule
    │   ├── InvalidPacket               data that does not fit the schema of its type
    │   ├── InvalidStep                 a type of step, or its settings, that cannot be
    │   ├── InvalidBackup               a file that is no backup, or a damaged or hostile one
    │   ├── InvalidUpload               a file that is not taken: its type, or too many of them
    │   ├── InvalidWorkflow             a pipeline or flow that could not be run
    │   ├── InvalidArchive              a zip or folder with names, links or sizes that are not safe
    │   ├── InvalidExport               what cannot be exported, or not to this folder or file
    │   ├── InvalidImport               a source of an import that cannot be read as one
    │   ├── InvalidBundle               files that define no agent one could install
    │   ├── InvalidSource               a feed or document that has no items one could read
    │   ├── InvalidTask                 a system task that could not run
    │   ├── InvalidTaskParameters       a task takes no such parameters, or not these values
    │   ├── TaskNotRunnable             a task that only its schedule runs
    │   ├── InvalidPrompt               a prompt without a placeholder or marker that it needs
    │   ├── UnclosedBlock               a fence or comment would swallow the new section
    │   ├── NotText                     the bytes are not UTF-8
    │   ├── LossRefused                 a replacement that loses most of a page by mistake
    │   ├── PreconditionUnsupported     the operation replaces no single version of a page
    │   ├── VersionRequired             the settings ask a replacement for the version it replaces
    │   └── TooLarge
    │       └── UploadTooLarge
    ├── NotFound (LookupError)          what was named is not there
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
    ├── Ambiguous (LookupError)         several things answer to the name
    │   ├── SectionAmbiguous
    │   ├── SessionAmbiguous            a shortened id that several conversations begin with
    │   ├── WorkflowAmbiguous           a slug that several pipelines or flows have
    │   └── AgentAmbiguous
    ├── Refused                         understood, and not allowed
    │   ├── Protected                   a core page: clear it instead
    │   ├── NotEditable                 a generated page
    │   ├── NameTaken                   another name differs only by case or Unicode form
    │   │   └── SectionTaken            another section differs only in case
    │   ├── AgentExists
    │   ├── UserExists
    │   ├── FolderTaken                 a backup is restored to a new or an empty folder alone
    │   ├── DatabaseTaken               and to a new or an empty database alone
    │   ├── SlugTaken                   a sibling of the pipeline or flow has the slug
    │   ├── Forbidden                   someone else may; the message says what it takes
    │   │   ├── JobForbidden            the user of a job may no longer run it
    │   │   └── PageDenied              the agent's memory policy binds access and denies the page
    │   ├── Unauthenticated             nobody, or no longer someone: show a valid credential
    │   │   └── LoginLinkInvalid        used before, expired or incomplete
    │   ├── ToolDenied                  the agent's policy or the call leaves the tool out
    │   ├── AssembledText               a page as a prompt shows it, to be stored as if it were new
    │   ├── DailyMemoryOff              the journal is closed to agents until it is switched on
    │   ├── FolderRefused               a folder of the server that only its operator may name
    │   ├── RequestRefused              another server that may not be asked, or not so
    │   ├── BundleMismatch              the agent was installed from another bundle
    │   ├── UpgradeOutdated             what waits for approval was changed here meanwhile
    │   ├── RepositoryUnusable          git cannot commit the pages; the message says what to do
    │   ├── SecretsFound                an export that would carry secrets; names file and line
    │   └── Unsafe                      a link, device or mount where a page should be
    ├── DirectiveFailed                 a part of the prompt that must not be missing
    ├── Conflicted                      the page is not the version the writer had read
    ├── SessionBusy                     a turn of the conversation is running
    ├── TurnLost                        the turn was taken over by another; nothing was written
    ├── JobLost                         the job was taken over by another worker
    └── Unavailable                     the store cannot answer; never "not found"
        ├── WorkspaceUnavailable        its folder is gone, unmounted, or another one
        ├── Locked                      another process holds the page too long
        ├── InUse                       a file or folder that another program is writing to
        ├── HistoryMissing              the store of the page keeps no prior versions
        ├── TooBusy                     too many wait for the same already
        ├── TookTooLong                 reading that was given up
        ├── DiskFull
        ├── ArtifactBroken              an artifact that is not what the job left
        ├── RequestFailed               another server did not answer, or not as it should
        └── ModelFailed                 the provider did not answer, and says why
"""

from __future__ import annotations


class LooseleafError(Exception):
    """Something Looseleaf could not or would not do."""

    code = "error"


class Invalid(LooseleafError, ValueError):
    """The request is wrong as it stands; nothing was done."""

    code = "invalid"


class _InvalidThing(Invalid):
    template = ""

    def __init__(self, name: object, why: str) -> None:
        self.name, self.why = name, why
        super().__init__(self.template.format(name=name, why=why))


class InvalidName(_InvalidThing):
    """A filename, layer or id that no page can have."""

    code = "invalid_name"
    template = "{name!r} cannot be used as a name: {why}."


class InvalidSectionName(_InvalidThing):
    """A section name that would not survive in a page."""

    code = "invalid_section_name"
    template = "{name!r} cannot be the name of a section: {why}."


class InvalidDate(Invalid):
    """Not a real day written YYYY-MM-DD."""

    code = "invalid_date"

    def __init__(self, date: object) -> None:
        self.date = date
        super().__init__(f"{date!r} is not a day. Write it as YYYY-MM-DD, for example 2026-04-17.")


class InvalidPolicy(Invalid):
    """A memory or tool policy that says nothing one could follow."""

    code = "invalid_policy"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"The policy cannot be followed: {why}.")


class InvalidSetting(_InvalidThing):
    """A settings file or variable with a value that cannot be used."""

    code = "invalid_setting"
    template = "The setting {name} cannot be used: {why}."


class InvalidAgent(_InvalidThing):
    """A slug or configuration that no agent can have."""

    code = "invalid_agent"
    template = "Invalid agent {name!r}: {why}."


class InvalidQuery(_InvalidThing):
    """A search that asks for nothing."""

    code = "invalid_query"
    template = "Cannot search for {name!r}: {why}."


class BrokenDirective(_InvalidThing):
    """A directive that could not keep its contract."""

    code = "broken_directive"
    template = "The directive {name!r} breaks its contract: {why}."


class BrokenPlugin(_InvalidThing):
    """A plugin that cannot be imported, misses its hooks, or failed in one."""

    code = "broken_plugin"
    template = (
        "The plugin {name} cannot be used: {why}. To go on without it, take it out of plugins in "
        "looseleaf.toml, or put it into plugins_off."
    )


class InvalidOperation(_InvalidThing):
    """An operation that no surface could offer."""

    code = "invalid_operation"
    template = "Invalid operation {name!r}: {why}."


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


class UnclosedBlock(Invalid):
    """The page ends inside a code fence or comment, which would swallow a new section."""

    code = "unclosed_block"

    def __init__(self, line: int, kind: str) -> None:
        self.line, self.kind = line, kind
        super().__init__(
            f"The page ends inside the {kind} that line {line} opens, so a new section would be "
            f"swallowed by it. Close the {kind} first."
        )


class NotText(Invalid):
    """Bytes that are not UTF-8 where a page's text is needed."""

    code = "not_text"

    def __init__(self, filename: str, offset: int) -> None:
        self.filename, self.offset = filename, offset
        super().__init__(
            f"{filename} is not UTF-8 text (byte {offset}). Save it as UTF-8, then try again."
        )


class PreconditionUnsupported(Invalid):
    """A version was named for an operation that replaces no single version of a page."""

    code = "precondition_unsupported"

    def __init__(self, operation: str) -> None:
        self.operation = operation
        super().__init__(
            f"{operation} cannot keep If-Match or If-None-Match, so nothing was done. "
            "Leave the header out."
        )


class VersionRequired(Invalid):
    """The settings ask every replacement for the version it replaces."""

    code = "precondition_required"

    def __init__(self, filename: str) -> None:
        self.filename = filename
        super().__init__(
            f"Say which version of {filename} you replace: the header If-Match with the ETag you "
            "read, or If-None-Match: * for a new page (elsewhere, the argument if_match with the "
            "hash, or absent)."
        )


class LossRefused(Invalid):
    """A replacement that would lose most of a page, most likely by mistake."""

    code = "loss_refused"

    def __init__(self, filename: str, why: str) -> None:
        self.filename, self.why = filename, why
        super().__init__(
            f"{filename} was not replaced: {why}. Send the whole text. If this is meant, repeat it "
            "with allow_shrink (--allow-shrink at the command line); clearing a page is an "
            "operation of its own."
        )


class TooLarge(Invalid):
    """More bytes than a page may have."""

    code = "too_large"

    def __init__(self, filename: str, size: int, limit: int) -> None:
        self.filename, self.size, self.limit = filename, size, limit
        super().__init__(
            f"{filename} would have {size} bytes; a page may have {limit}. Split it into pages."
        )


class NotFound(LooseleafError, LookupError):
    """There is nothing of this name."""

    code = "not_found"


class PageMissing(NotFound):
    """There is no such page."""

    code = "page_missing"

    def __init__(self, filename: str, place: str = "") -> None:
        self.filename = filename
        super().__init__(f"There is no page {filename}{' in ' + place if place else ''}.")


class SectionMissing(NotFound):
    """The page has no such section; `available` names those it has."""

    code = "section_missing"

    def __init__(self, name: object, available: tuple[str, ...]) -> None:
        self.name, self.available = name, available
        names = ", ".join(available) if available else "none"
        super().__init__(f"There is no section {name!r}. Available sections: {names}.")


class RevisionMissing(NotFound):
    """There is no such revision, or its content is no longer kept."""

    code = "revision_missing"

    def __init__(
        self, filename: str, revision: object, why: str = "it is not in the history"
    ) -> None:
        self.filename, self.revision, self.why = filename, revision, why
        super().__init__(f"{filename} has no revision {revision}: {why}.")


class AgentMissing(NotFound):
    """No agent has that id or slug, or a user has none; `candidates` names those there are."""

    code = "agent_missing"

    def __init__(
        self, agent: object, candidates: tuple[str, ...], hint: str = "", *, user: int = 0
    ) -> None:
        self.agent, self.candidates = agent, candidates
        names = ", ".join(candidates) if candidates else "none yet (looseleaf agents create SLUG)"
        problem = f"User {user} has no active agent" if user else f"There is no agent {agent!r}"
        super().__init__(f"{problem}. Available agents: {names}.{hint}")


class OperationMissing(NotFound):
    """No operation has that name."""

    code = "operation_missing"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"There is no operation {name!r}.")


class ToolMissing(NotFound):
    """No tool has that name; `available` names those there are."""

    code = "tool_missing"

    def __init__(self, name: str, available: tuple[str, ...]) -> None:
        self.name, self.available = name, available
        super().__init__(f"There is no tool {name!r}. Available tools: {', '.join(available)}.")


class UserMissing(NotFound):
    """No user has that id or login."""

    code = "user_missing"

    def __init__(self, user: object) -> None:
        self.user = user
        super().__init__(f"There is no user {user!r}.")


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
    """Several things answer to the name."""

    code = "ambiguous"


class SectionAmbiguous(Ambiguous):
    """Several sections have that name; choose one by position."""

    code = "section_ambiguous"

    def __init__(self, name: str, positions: tuple[int, ...]) -> None:
        self.name, self.positions = name, positions
        numbers = ", ".join(map(str, positions))
        super().__init__(
            f"There are {len(positions)} sections {name!r}, at positions {numbers}. "
            "Say which one by its position."
        )


class AgentAmbiguous(Ambiguous):
    """Several agents could be meant; choose one."""

    code = "agent_ambiguous"

    def __init__(self, candidates: tuple[str, ...]) -> None:
        self.candidates = candidates
        super().__init__(
            f"Which agent? Name one of: {', '.join(candidates)} (--agent or LOOSELEAF_AGENT in a "
            "terminal, agent in a request), or set default_agent in looseleaf.toml."
        )


class Refused(LooseleafError):
    """Understood, and not allowed."""

    code = "refused"


class Protected(Refused):
    """A core page, which can be cleared but not deleted."""

    code = "protected"

    def __init__(self, filename: str) -> None:
        self.filename = filename
        super().__init__(
            f"{filename} is a core page and cannot be deleted. Clear its content instead."
        )


class NotEditable(Refused):
    """A generated page, which changes only by being composed anew."""

    code = "not_editable"

    def __init__(self, filename: str) -> None:
        self.filename = filename
        super().__init__(
            f"{filename} is generated and cannot be edited. Change what it is made from, then run: "
            f"looseleaf memory compose {filename}"
        )


class NameTaken(Refused):
    """A name already there differs only by case or Unicode form."""

    code = "name_taken"

    def __init__(self, name: str, taken: str) -> None:
        self.name, self.taken = name, taken
        super().__init__(f"{name} differs from {taken} only by case or Unicode form. Use {taken}.")


class SectionTaken(NameTaken):
    """A section already there differs only in case from the one that would be added."""

    code = "section_taken"

    def __init__(self, name: str, taken: str) -> None:
        super().__init__(name, taken)
        self.args = (
            f"The section {name!r} differs only in case from {taken!r}. Write to {taken!r}.",
        )


class AgentExists(Refused):
    """The slug belongs to another agent."""

    code = "agent_exists"

    def __init__(self, slug: str) -> None:
        self.slug = slug
        super().__init__(f"There is an agent {slug} already.")


class Forbidden(Refused):
    """The one who acts lacks a role or a capability; nothing was done."""

    code = "forbidden"

    def __init__(self, permission: str, needed: str) -> None:
        self.permission, self.needed = permission, needed
        super().__init__(f"You may not do this: it takes {needed}.")


class PageDenied(Forbidden):
    """The memory policy of the agent that acts binds access, and denies this page."""

    code = "page_denied"

    def __init__(self, filename: str, rule: str) -> None:
        self.filename, self.rule = filename, rule
        super().__init__(
            "read",
            f"a memory policy of this agent that gives it {filename} ({rule}, binds access); "
            "a person can change the policy",
        )


class Unauthenticated(Refused):
    """The credential is missing, wrong, expired or revoked; it is not said which."""

    code = "unauthenticated"

    def __init__(
        self,
        reason: str = "You are not signed in: send a token, an application password or a session",
    ) -> None:
        super().__init__(f"{reason}.")


class ToolDenied(Refused):
    """The agent may not use this tool; `rule` names what decided."""

    code = "tool_denied"

    def __init__(self, name: str, rule: str) -> None:
        self.name, self.rule = name, rule
        super().__init__(
            f"The tool {name} is not for this agent ({rule}). Its tool_policy, or the request, "
            "would have to allow it."
        )


class AssembledText(Refused):
    """The text holds a page as a prompt shows it, which would be remembered twice."""

    code = "assembled_text"

    def __init__(self) -> None:
        super().__init__(
            "The text holds a page as it stands in a prompt (<page …> to </page …>), which is "
            "remembered already. Write only what is new, without those lines."
        )


class DailyMemoryOff(Refused):
    """The journal is closed to agents until it is switched on."""

    code = "daily_memory_disabled"

    def __init__(self) -> None:
        super().__init__(
            "Agents may not write the daily journal here. Switch it on: daily_memory_enabled = "
            "true in looseleaf.toml, or: looseleaf settings set daily_memory_enabled true"
        )


class Unsafe(Refused):
    """A link, device or mount stands where a page should be."""

    code = "unsafe"

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why
        super().__init__(f"{name} is not touched: {why}.")


class DirectiveFailed(LooseleafError):
    """A directive that must not be missing failed, so there is no prompt."""

    code = "directive_failed"

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name
        super().__init__(f"The directive {name} failed: {type(error).__name__}: {error}")


class Conflicted(LooseleafError):
    """The page is not the version the writer had read; nothing was written."""

    code = "conflict"

    def __init__(self, filename: str, expected: str, actual: str) -> None:
        self.filename, self.expected, self.actual = filename, expected, actual
        super().__init__(
            f"{filename} has changed: expected version {expected or 'absent'}, it is "
            f"{actual or 'absent'}. Read it again, then repeat the change."
        )


class SessionBusy(LooseleafError):
    """A turn of the conversation is running, here or in another process."""

    code = "session_busy"

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(
            f"The chat session {session} is being answered. Wait for the end, or cancel it."
        )


class TurnLost(LooseleafError):
    """The turn was silent for so long that another took its place; nothing was written."""

    code = "turn_lost"

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(
            f"The chat session {session} was taken over while this turn was silent, or it is gone."
        )


class Unavailable(LooseleafError):
    """The store cannot answer now; nothing was written."""

    code = "unavailable"

    def __init__(self, what: str, why: object) -> None:
        self.what, self.why = what, why
        super().__init__(f"{what} is not available: {why}.")


class WorkspaceUnavailable(Unavailable):
    """The folder of the workspace is gone, or it is not the one that was opened."""

    code = "workspace_unavailable"

    def __init__(self, reason: object) -> None:
        super().__init__("The workspace", reason)


class Locked(Unavailable):
    """Another process has held the page for too long."""

    code = "locked"

    def __init__(self, subject: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(subject, f"another process has held it for {seconds:g} seconds; try again")


class InUse(Unavailable):
    """Another program is writing to a file or a folder; asking again later helps."""

    code = "in_use"


class HistoryMissing(Unavailable):
    """The store that has the page keeps no prior versions."""

    code = "no_history"

    def __init__(self, filename: str, reason: str) -> None:
        self.filename = filename
        super().__init__(f"The history of {filename}", reason)


class TooBusy(Unavailable):
    """Too many requests wait for the same already; nothing was done."""

    code = "too_busy"

    def __init__(self, subject: str) -> None:
        super().__init__(subject, "too many requests wait for it already; try again in a moment")


class TookTooLong(Unavailable):
    """Reading that was given up."""

    code = "took_too_long"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__("The answer", f"it took more than {seconds:g} seconds; ask for less")


class DiskFull(Unavailable):
    """There is no room for the write; the old bytes are intact."""

    code = "disk_full"

    def __init__(self, subject: str) -> None:
        super().__init__(subject, "there is no room left on the disk; the old bytes are intact")
