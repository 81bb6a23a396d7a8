"""The values and small contracts that a run of a step uses."""

from __future__ import annotations

from looseleaf.models.model import Usage
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from looseleaf.http_client.message import IncomingResponse, OutgoingRequest
    from looseleaf.models.model import Message
    from looseleaf.workflows.artifacts.artifact import ArtifactFile
    from looseleaf.workflows.job import Job, MemoryWrite
else:
    Protocol = object


@value
class ToolExecution:
    """A tool that the model called in a turn, and the result of the call."""

    name: str
    arguments: Mapping[str, Any] = FrozenDict()
    success: bool = True
    summary: str = ""
    writes: tuple[MemoryWrite, ...] = ()


@value(kw_only=True)
class TurnResult:
    """The end of a turn of a model in pipeline mode.

    Fields:
        text: The answer.
        model: The model that answered, as provider:model.
        usage: The tokens of all questions of the turn.
        tools: The tools it called, in their order.
        transcript: All messages of the turn.
        is_complete: False if the limit of questions ended the turn.
        session_id: The conversation that the turn was saved in while it ran.
    """

    text: str
    model: str
    usage: Usage = Usage()
    tools: tuple[ToolExecution, ...] = ()
    transcript: tuple[Message, ...] = ()
    is_complete: bool = True
    session_id: str = ""


class OutgoingRequests(Protocol):
    """Requests to addresses that the operator allows, with limits of time and bytes."""

    def send(self, request: OutgoingRequest) -> IncomingResponse:
        """Send a request; raise `RequestFailed` for a transient failure, else `RequestRefused`."""


class ProcessedItems(Protocol):
    """The items that the steps of flows have taken, by keys; each is taken by one job."""

    def claim(
        self, flow_id: int, step_id: str, keys: tuple[str, ...], *, job_id: int, limit: int
    ) -> tuple[str, ...]:
        """Claim items that no other job has, in their order, and return those of this job.

        The same job gets the same items again, so that a step that is repeated after a crash takes
        no others. Items that a source still offers are not forgotten (see `prune`).
        """

    def release(self, job_id: int) -> int:
        """Release the items of a failed job, for the next job; return how many."""

    def prune(self, *, before: float, dry_run: bool = False) -> int:
        """Delete items that no source has offered since a time; return how many."""


class JobFiles(Protocol):
    """The files of pipelines, flows and jobs below the root folder."""

    def flow_files(self, pipeline_id: int, flow_id: int) -> tuple[str, ...]:
        """Name the files that were uploaded for a flow."""

    def read_flow_file(self, pipeline_id: int, flow_id: int, name: str) -> bytes:
        """Read a file of a flow, or raise `NotFound`."""

    def write_gate(self, job: Job, step_id: str, address: str) -> None:
        """Keep the one-time address of a gate for the operator; it replaces an earlier one."""

    def remove_gate(self, job: Job, step_id: str) -> None:
        """Delete the address of a gate that was called."""

    def write_artifact(self, job_id: int, name: str, content: bytes) -> ArtifactFile:
        """Keep an artifact of a job, named by its type and a qualifier; equal bytes stay."""


class PublishFolders(Protocol):
    """The folders that the operator allows steps to publish to."""

    def write(self, folder: str, name: str, content: bytes, *, replace: bool) -> str:
        """Write a file below an allowed folder, atomically, and return its path in the folder.

        A file that has the same bytes is left as it is; another text needs `replace`.
        """


@value
class Intent:
    """The hash of the text that an effect is about to give a page; `number` counts the attempts."""

    content_hash: str
    number: int


class EffectIntents(Protocol):
    """The intents of effects on pages, noted before the pages change."""

    def find(self, key: str, page: str) -> Intent | None:
        """Return the newest intent, or None if none was noted."""

    def note(self, key: str, page: str, content_hash: str) -> None:
        """Record an intent durably, under the next number; it replaces an earlier one."""
