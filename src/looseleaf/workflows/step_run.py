"""The input of one run of a step, and the services of the workspace that it may use."""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from looseleaf.memory.history import History
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.provenance import Origin
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Change
    from looseleaf.models.model import Message
    from looseleaf.setting_tables import WordPressSite
    from looseleaf.workflows.artifacts.artifact import ArtifactFile
    from looseleaf.workflows.artifacts.masking import SecretMask
    from looseleaf.workflows.job import Job
    from looseleaf.workflows.packet import Packet
    from looseleaf.workflows.step_parts import (
        EffectIntents,
        JobFiles,
        OutgoingRequests,
        ProcessedItems,
        PublishFolders,
        TurnResult,
    )
else:
    Protocol = object


class StepServices(Protocol):
    """The services that a step may use, with the rights of the job's agent."""

    @property
    def pages(self) -> MemoryPages:
        """The pages that the agent may reach."""

    @property
    def history(self) -> History:
        """The history of these pages."""

    @property
    def intents(self) -> EffectIntents:
        """The intents of effects on pages; `workflows/effects.py` uses them."""

    @property
    def requests(self) -> OutgoingRequests:
        """Outgoing requests."""

    @property
    def processed_items(self) -> ProcessedItems:
        """The items that were processed before."""

    @property
    def files(self) -> JobFiles:
        """The files of flows and jobs."""

    @property
    def publish_folders(self) -> PublishFolders:
        """The folders that may be published to."""

    def clock(self) -> float:
        """Return the time, in seconds since 1970."""

    @property
    def mask(self) -> SecretMask:
        """Masks the secrets of the settings, and texts that look like secrets."""

    def find_site(self, name: str) -> WordPressSite:
        """Return a site of the settings, or raise `InvalidStep`."""

    def page_scope(self, run: StepRun, file: str, permission: str) -> Scope:
        """Return the page of a name, or raise `Forbidden` if the agent may not change it."""

    def change(self, run: StepRun, operation: str, *, origin: Origin) -> Change:
        """Return a change by the agent, made in this job."""

    def take_prompt(self, run: StepRun) -> str | None:
        """Pop the flow's next queued prompt, idempotently per job step; return None if empty."""

    def keep_transcript(self, run: StepRun, result: TurnResult) -> tuple[ArtifactFile, ...]:
        """Keep the tool trace, and the transcript if the settings ask for it."""

    def run_turn(self, run: StepRun, messages: tuple[Message, ...]) -> TurnResult:
        """Have the agent's model answer messages in pipeline mode, with its tools."""

    def run_task(self, run: StepRun, task_type: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Run a system task and return its result."""


@value(kw_only=True)
class StepRun:
    """The input of one run of a step.

    Fields:
        job: The job.
        pipeline: The pipeline as it was when the job started; id 0 for a direct job.
        flow: The flow as it was when the job started; id 0 for a direct job.
        step: The step in its pipeline.
        settings: The settings of the step, with those of the flow on top.
        packets: The packets of all steps before, newest first.
        parts: The services of the workspace that steps may use.
        is_cancelled: Says whether the job is to end; a long step asks now and then.
        report_progress: Shows people the progress of the step, in a few words.
        attempt: 1 for the first run of the step in this job.
        signal: The body of the call that a waiting step waited for; None before.
    """

    job: Job
    pipeline: Any
    flow: Any
    step: Any
    settings: Mapping[str, Any]
    packets: tuple[Packet, ...]
    parts: StepServices
    is_cancelled: Callable[[], bool]
    report_progress: Callable[[str], None]
    attempt: int = 1
    signal: Mapping[str, Any] | None = None

    @property
    def effect_key(self) -> str:
        """The key of the step's effect: the same in every attempt, unique for job and step."""
        return build_effect_key(self.job.id, self.step.id)


def build_effect_key(job_id: int, step_id: str) -> str:
    """Return the key of the effect of a step in a job."""
    return f"job-{job_id}/step-{step_id}"
