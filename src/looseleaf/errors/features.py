"""Errors of features: workflows, system tasks, bundles, imports and backups."""

from __future__ import annotations

from looseleaf.errors import (
    Ambiguous,
    Forbidden,
    Invalid,
    LooseleafError,
    NotFound,
    Refused,
    Unavailable,
    _InvalidThing,
)
from looseleaf.errors.pages import TooLarge

# Errors of pipelines, flows, jobs, schedules and the servers that workflows ask.


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


class InvalidUpload(_InvalidThing):
    """An upload that is refused: its type is not allowed, or the folder is full."""

    code = "invalid_upload"
    template = "The file {name!r} is not taken: {why}."


class InvalidWorkflow(_InvalidThing):
    """A pipeline or flow that could not be run: its steps, files, schedule or names."""

    code = "invalid_workflow"
    template = "The {name} cannot be saved: {why}."


class InvalidSource(_InvalidThing):
    """A document of a source without items that can be read."""

    code = "invalid_source"
    template = "The {name} cannot be read: {why}."


class UploadTooLarge(TooLarge):
    """More bytes than an upload may have."""

    code = "upload_too_large"

    def __init__(self, filename: str, size: int, limit: int) -> None:
        super().__init__(filename, size, limit)
        self.args = (f"{filename} has more than {limit} bytes (max_upload_bytes).",)


class JobMissing(NotFound):
    """No job has that number, or it belongs to an agent that the caller may not see."""

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


class FileMissing(NotFound):
    """There is no uploaded file of that name."""

    code = "file_missing"

    def __init__(self, filename: str, place: str) -> None:
        self.filename, self.place = filename, place
        super().__init__(f"There is no file {filename} of {place}.")


class ScheduleMissing(NotFound):
    """No schedule has that id, or it is another agent's."""

    code = "schedule_not_found"

    def __init__(self, schedule: str) -> None:
        self.schedule = schedule
        super().__init__(f"There is no schedule {schedule!r}. Show them: looseleaf schedules list")


class WorkflowAmbiguous(Ambiguous):
    """Several pipelines or flows have that slug; `candidates` name them exactly."""

    code = "workflow_ambiguous"

    def __init__(self, noun: str, slug: str, candidates: tuple[str, ...]) -> None:
        self.noun, self.slug, self.candidates = noun, slug, candidates
        super().__init__(f"Which {noun} {slug}? Name one of: {', '.join(candidates)}.")


class SlugTaken(Refused):
    """Another pipeline of the agent, or another flow of the pipeline, has the slug."""

    code = "slug_taken"

    def __init__(self, noun: str, slug: str) -> None:
        self.noun, self.slug = noun, slug
        super().__init__(f"There is a {noun} {slug} already. Choose another slug.")


class JobForbidden(Forbidden):
    """The user for whom a job runs may no longer run it; its next step was not begun."""

    code = "job_forbidden"

    def __init__(self, user_id: int, agent: str, needed: str) -> None:
        self.user_id, self.agent = user_id, agent
        super().__init__("flows", needed)
        message = f"The job runs for user {user_id}, who may not run jobs of {agent}: it takes"
        self.args = (f"{message} an active account and {needed}.",)


class RequestRefused(Refused):
    """Another server that may not be asked, or not in this way; nothing was sent to it."""

    code = "request_refused"

    def __init__(self, host: str, why: str) -> None:
        self.host, self.why = host, why
        super().__init__(f"The server {host} was not asked: {why}.")


class JobLost(LooseleafError):
    """Another worker has the job, or it is gone; this one writes nothing more."""

    code = "job_lost"

    def __init__(self, job_id: int) -> None:
        self.job_id = job_id
        super().__init__(f"The job {job_id} was taken over by another worker, or it is gone.")


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


# Errors of system tasks and their prompts.


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
        problem = (
            f"There is no run {run!r} of {agent}" if run else f"Nothing has run for {agent} yet"
        )
        super().__init__(f"{problem}. looseleaf upkeep log lists the runs.")


class TaskPromptMissing(NotFound):
    """A system task has no prompt of that key; `available` names the keys there are."""

    code = "invalid_prompt_key"

    def __init__(self, task: str, key: str, available: tuple[str, ...]) -> None:
        self.task, self.key, self.available = task, key, available
        keys = ", ".join(available) or "none"
        super().__init__(f"The task {task} has no prompt {key!r}. Available prompts: {keys}.")


# Errors of bundles, imports, exports and backups.


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
