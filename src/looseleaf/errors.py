"""Every error Looseleaf raises, each with a stable code.

LooseleafError is never raised itself; catch it to catch everything::

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
    │   ├── InvalidExport               a folder or file that pages cannot be exported to
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


class InvalidUser(_InvalidThing):
    """A login, role, capability or label that nobody can have."""

    code = "invalid_user"
    template = "{name!r} is invalid: {why}."


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


class InvalidSchedule(_InvalidThing):
    """A schedule that could not be kept."""

    code = "invalid_schedule"
    template = "Invalid schedule {name!r}: {why}."


class InvalidPacket(_InvalidThing):
    """A packet, or a type of packets, that no step could use."""

    code = "invalid_packet"
    template = "Invalid packet of type {name!r}: {why}."


class InvalidStep(_InvalidThing):
    """A step that could not run: an unknown type, or settings that do not fit it."""

    code = "invalid_step"
    template = "Invalid step {name!r}: {why}."


class InvalidBackup(Invalid):
    """A file that is no backup, or a backup that is damaged or was made to do harm."""

    code = "invalid_backup"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"The archive cannot be used as a backup: {why}.")


class InvalidUpload(_InvalidThing):
    """An upload that is not taken: its type is not allowed, or the folder is full."""

    code = "invalid_upload"
    template = "The file {name!r} is not taken: {why}."


class InvalidWorkflow(_InvalidThing):
    """A pipeline or flow that could not be run: its steps, files, schedule or names."""

    code = "invalid_workflow"
    template = "The {name} cannot be saved: {why}."


class InvalidExport(Invalid):
    """A folder or file that pages cannot be exported to; nothing was written."""

    code = "invalid_export"


class InvalidImport(Invalid):
    """A source of an import that cannot be read as one; nothing was imported."""

    code = "invalid_import"


class InvalidSource(_InvalidThing):
    """A document that came from a source, and has no items one could read."""

    code = "invalid_source"
    template = "The {name} cannot be read: {why}."


class InvalidArchive(_InvalidThing):
    """An archive or a folder of files that is not safe to unpack; nothing was unpacked."""

    code = "invalid_archive"
    template = "The archive cannot be used: {name}: {why}."


class InvalidBundle(_InvalidThing):
    """Files of a bundle that cannot be read, or that define nothing one could install."""

    code = "agent_bundle_parse_failed"
    template = "The bundle cannot be used: {name}: {why}."


class InvalidTask(_InvalidThing):
    """A system task that could not run."""

    code = "invalid_task"
    template = "The system task {name!r} cannot be registered: {why}."


class InvalidTaskParameters(_InvalidThing):
    """Parameters that a system task does not take, or cannot use."""

    code = "task_params_invalid"
    template = "The parameters of the task {name!r} cannot be used: {why}."


class TaskNotRunnable(_InvalidThing):
    """A system task that people cannot run."""

    code = "task_manual_run_unsupported"
    template = "The task {name!r} cannot be run by hand: {why}."


class InvalidPrompt(_InvalidThing):
    """A prompt of a system task that could not work."""

    code = "invalid_prompt"
    template = "The prompt {name!r} cannot be used: {why}."


class InvalidArgument(_InvalidThing):
    """An argument that the operation does not take, lacks, or cannot use."""

    code = "invalid_argument"
    template = "The argument {name} cannot be used: {why}."


class InvalidModel(_InvalidThing):
    """A name that no model answers to, or a provider that is not set up."""

    code = "invalid_model"
    template = "The model {name} cannot be used: {why}."


class ModelMissing(Invalid):
    """Nothing names the model that is to answer."""

    code = "model_missing"

    def __init__(self, agent: str, mode: str) -> None:
        self.agent, self.mode = agent, mode
        super().__init__(
            f"No model is named for {agent} in mode {mode}. Name one: default_model = "
            '"provider:model" in looseleaf.toml (or "echo" to try it out), or for this agent: '
            f"""looseleaf agents configure {agent} 'models={{"{mode}": "provider:model"}}'"""
        )


class ExtraMissing(Invalid, ImportError):
    """A part of Looseleaf that this installation does not have."""

    code = "extra_missing"

    def __init__(self, what: str, extra: str, package: str, line: str) -> None:
        self.what, self.extra, self.package, self.line = what, extra, package, line
        super().__init__(
            f"{what} needs the extra {extra!r}, and {package} is missing or too old. "
            f"Install it: {line}"
        )


class EmptyMessage(Invalid):
    """A message that says nothing."""

    code = "empty_message"

    def __init__(self) -> None:
        super().__init__("The message is empty. Say something.")


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


class UploadTooLarge(TooLarge):
    """More bytes than an upload may have."""

    code = "upload_too_large"

    def __init__(self, filename: str, size: int, limit: int) -> None:
        super().__init__(filename, size, limit)
        self.args = (f"{filename} has more than {limit} bytes (max_upload_bytes).",)


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


class TaskMissing(NotFound):
    """No system task has that type; `available` names the types there are."""

    code = "task_type_not_found"

    def __init__(self, name: str, available: tuple[str, ...]) -> None:
        self.name, self.available = name, available
        types = ", ".join(available) or "none"
        super().__init__(f"There is no system task {name!r}. Available tasks: {types}.")


class TaskRunMissing(NotFound):
    """No run of a system task has that id."""

    code = "task_run_missing"

    def __init__(self, run: str, agent: str) -> None:
        self.run, self.agent = run, agent
        super().__init__(
            f"There is no run {run!r} of {agent}. looseleaf upkeep log lists the runs."
        )


class TaskPromptMissing(NotFound):
    """A system task has no prompt of that key; `available` names the keys there are."""

    code = "invalid_prompt_key"

    def __init__(self, task: str, key: str, available: tuple[str, ...]) -> None:
        self.task, self.key, self.available = task, key, available
        keys = ", ".join(available) or "none"
        super().__init__(f"The task {task} has no prompt {key!r}. Available prompts: {keys}.")


class UserMissing(NotFound):
    """No user has that id or login."""

    code = "user_missing"

    def __init__(self, user: object) -> None:
        self.user = user
        super().__init__(f"There is no user {user!r}.")


class CredentialMissing(NotFound):
    """No such token, application password or session, or it has ended."""

    code = "credential_missing"

    def __init__(self, identity: str) -> None:
        self.identity = identity
        super().__init__(f"There is no credential {identity!r} that could be ended.")


class SessionMissing(NotFound):
    """No conversation has that id, or it is not one's own."""

    code = "session_not_found"

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(f"There is no chat session {session}.")


class JobMissing(NotFound):
    """No job has that number, or it belongs to an agent that one may not see."""

    code = "job_not_found"

    def __init__(self, job_id: int) -> None:
        self.job_id = job_id
        super().__init__(f"There is no job {job_id}.")


class PipelineMissing(NotFound):
    """No pipeline has that id or slug, or it is another agent's."""

    code = "pipeline_not_found"

    def __init__(self, pipeline: object) -> None:
        self.pipeline = pipeline
        super().__init__(f"There is no pipeline {pipeline!r}. Show them: looseleaf pipelines list")


class FlowMissing(NotFound):
    """No flow has that id or slug, or it is another agent's."""

    code = "flow_not_found"

    def __init__(self, flow: object) -> None:
        self.flow = flow
        super().__init__(f"There is no flow {flow!r}. Show them: looseleaf flows list")


class ArtifactMissing(NotFound):
    """A job has no such artifact, or it is no longer kept."""

    code = "artifact_missing"

    def __init__(self, reference: str) -> None:
        self.reference = reference
        super().__init__(f"There is no artifact {reference}; jobs artifacts lists those there are.")


class ImportSourceMissing(NotFound):
    """There is no such folder or file to import from."""

    code = "import_source_missing"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"There is no folder or file {path} to import from.")


class FileMissing(NotFound):
    """There is no uploaded file of that name."""

    code = "file_missing"

    def __init__(self, filename: str, place: str) -> None:
        self.filename, self.place = filename, place
        super().__init__(f"There is no file {filename} of {place}.")


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


class ScheduleMissing(NotFound):
    """No schedule has that id, or it is another agent's."""

    code = "schedule_not_found"

    def __init__(self, schedule: str) -> None:
        self.schedule = schedule
        super().__init__(f"There is no schedule {schedule!r}. Show them: looseleaf schedules list")


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


class SessionAmbiguous(Ambiguous):
    """Several conversations have an id that begins so; give more of it."""

    code = "session_ambiguous"

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        super().__init__(
            f"Several chat sessions have an id that begins with {prefix!r}. Give more of the id."
        )


class AgentAmbiguous(Ambiguous):
    """Several agents could be meant; choose one."""

    code = "agent_ambiguous"

    def __init__(self, candidates: tuple[str, ...]) -> None:
        self.candidates = candidates
        super().__init__(
            f"Which agent? Name one of: {', '.join(candidates)} (--agent, or LOOSELEAF_AGENT, "
            "or default_agent in looseleaf.toml)."
        )


class WorkflowAmbiguous(Ambiguous):
    """Several pipelines or flows have that slug; `candidates` name them exactly."""

    code = "workflow_ambiguous"

    def __init__(self, noun: str, slug: str, candidates: tuple[str, ...]) -> None:
        self.noun, self.slug, self.candidates = noun, slug, candidates
        super().__init__(f"Which {noun} {slug}? Name one of: {', '.join(candidates)}.")


class Refused(LooseleafError):
    """Understood, and not allowed."""

    code = "refused"


class FolderRefused(Refused):
    """A folder of the server's file system that only its operator may name."""

    code = "folder_refused"

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path} is not touched: {why}.")


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


class UserExists(Refused):
    """The login or the id belongs to another user."""

    code = "user_exists"

    def __init__(self, login: str) -> None:
        self.login = login
        super().__init__(f"There is a user {login} already, or one with that id.")


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


class SlugTaken(Refused):
    """Another pipeline of the agent, or another flow of the pipeline, has the slug."""

    code = "slug_taken"

    def __init__(self, noun: str, slug: str) -> None:
        self.noun, self.slug = noun, slug
        super().__init__(f"There is a {noun} {slug} already. Choose another slug.")


class Forbidden(Refused):
    """The one who acts lacks a role or a capability; nothing was done."""

    code = "forbidden"

    def __init__(self, permission: str, needed: str) -> None:
        self.permission, self.needed = permission, needed
        super().__init__(f"You may not do this: it takes {needed}.")


class JobForbidden(Forbidden):
    """The user for whom a job runs may no longer run it; its next step was not begun."""

    code = "job_forbidden"

    def __init__(self, user_id: int, agent: str, needed: str) -> None:
        self.user_id, self.agent = user_id, agent
        super().__init__("flows", needed)
        message = f"The job runs for user {user_id}, who may not run jobs of {agent}: it takes"
        self.args = (f"{message} an active account and {needed}.",)


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


class LoginLinkInvalid(Unauthenticated):
    """The login link was used before, has expired or is incomplete; it is not said which."""

    code = "login_link_invalid"

    def __init__(self) -> None:
        super().__init__(
            "This login link does not work: it was used before, it has expired, or a part of it is "
            "missing. Make a new one where the workspace lies: looseleaf tokens login"
        )


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


class RequestRefused(Refused):
    """Another server that may not be asked, or not in this way; nothing was sent to it."""

    code = "request_refused"

    def __init__(self, host: str, why: str) -> None:
        self.host, self.why = host, why
        super().__init__(f"The server {host} was not asked: {why}.")


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
    """Files that were to leave hold secrets; the places are named, the values are not."""

    code = "secrets_found"

    def __init__(self, places: tuple[str, ...], allow: str) -> None:
        self.places = places
        listing = "; ".join(places[:20]) + ("; …" if len(places) > 20 else "")
        super().__init__(
            f"Nothing was exported, since secrets stand in {listing}. Take them out, or {allow}."
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


class JobLost(LooseleafError):
    """Another worker has the job, or it is gone; this one writes nothing more."""

    code = "job_lost"

    def __init__(self, job_id: int) -> None:
        self.job_id = job_id
        super().__init__(f"The job {job_id} was taken over by another worker, or it is gone.")


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


class ArtifactBroken(Unavailable):
    """The content of an artifact is not what the job left."""

    code = "artifact_broken"

    def __init__(self, reference: str, why: str) -> None:
        self.reference = reference
        super().__init__(f"The artifact {reference}", why)


class RequestFailed(Unavailable):
    """Another server did not answer, or not as it should; asking again later may help."""

    code = "request_failed"

    def __init__(self, host: str, why: str) -> None:
        self.host = host
        super().__init__(f"The server {host}", why)


class ModelFailed(Unavailable):
    """The provider did not answer; what was said before is kept, and can be answered later."""

    code = "model_failed"

    def __init__(self, model: str, reason: str) -> None:
        self.model = model
        super().__init__(f"The model {model}", reason)
