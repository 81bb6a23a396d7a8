"""Errors of pipelines, flows, jobs, schedules and the servers that workflows ask."""

from __future__ import annotations

from looseleaf.errors import (
    Ambiguous,
    Forbidden,
    LooseleafError,
    NotFound,
    Refused,
    Unavailable,
    _InvalidThing,
)
from looseleaf.errors.pages import TooLarge


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
