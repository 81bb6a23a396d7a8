"""Types of steps: their declarations and registry; the input, services and outcome of a run."""

from __future__ import annotations

from looseleaf.errors.features import InvalidStep
from looseleaf.features.workflows.packet import PacketTypes
from looseleaf.memory.registry import NamedRegistry, check_word
from looseleaf.models.model import Usage
from looseleaf.schema_check import find_problem, find_schema_problem
from looseleaf.schema_fields import HIDDEN, has_hidden, hide_secrets, restore_secrets
from looseleaf.values import FrozenDict, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal, Protocol

    from looseleaf.allow_list import IncomingResponse, OutgoingRequest
    from looseleaf.features.workflows.artifacts import ArtifactFile, SecretMask
    from looseleaf.features.workflows.jobs.job import Job, MemoryWrite
    from looseleaf.features.workflows.packet import Packet
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.provenance import Origin
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Change
    from looseleaf.models.model import Message
    from looseleaf.settings import WordPressSite

    OutcomeStatus = Literal["completed", "no_items", "waiting", "skipped", "failed"]
else:
    Protocol = object


ANY = "*"  # in `takes`: packets of every type


@value(kw_only=True)
class StepOutcome:
    """The result of one run of a step; it is recorded once.

    Fields:
        packets: New packets, newest first; the next step sees them before all older ones.
        status: completed; no_items: nothing to do, and the job ends well; waiting: the job
            waits for a signal, and the same step runs again with it; skipped: the agent chose to
            do nothing, and the job ends well; failed: the job ends.
        reason: Why it failed, waits or was skipped, in one sentence.
        usage: The tokens it used.
        writes: The pages it changed.
        artifacts: References of artifacts it left.
        gate: With waiting: a digest of the secret that the signal must bring.
        wait_seconds: With waiting: the job fails without a signal for this time; 0 for no limit.
    """

    packets: tuple[Packet, ...] = ()
    status: OutcomeStatus = "completed"
    reason: str = ""
    usage: Usage = Usage()
    writes: tuple[MemoryWrite, ...] = ()
    artifacts: tuple[str, ...] = ()
    gate: str = ""
    wait_seconds: float = 0.0


def find_no_fault(*_arguments: object, **_options: object) -> str:
    """Return "": the schema of a step says all about its settings."""
    return ""


@value(kw_only=True)
class StepType:
    """A type of step.

    Fields:
        name: The name of the type in a pipeline.
        label: The name for people.
        description: What the step does, in one sentence.
        run: The function that runs it.
        takes: Types of packets that it can use, or () if it needs none, `*` for all.
        gives: Types of packets that it gives.
        settings: The JSON schema of its settings, with a title and a description of each, by which
            people fill them in; `docs/hooks.md` has the other notes for people.
        has_effect: Whether it changes something outside the job. It then keys the change by
            `effect_key`, so that a second run after a crash finds the change of the first.
        find_fault: Returns why settings that fit the schema cannot work, with the name of the
            setting, or ""; it is given the settings of the workspace, and whether the settings are
            whole (those of a pipeline are not, since its flows may add some).
        owner: The plugin that registered it.
    """

    name: str
    label: str
    description: str
    run: Callable[[StepRun], StepOutcome]
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    settings: Mapping[str, Any] = FrozenDict()
    has_effect: bool = False
    find_fault: Callable[..., str] = find_no_fault
    owner: str = ""

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise `InvalidStep` if settings do not fit the schema."""
        problem = find_problem(self.settings, settings)
        if problem is not None:
            raise InvalidStep(self.name, problem)
        if has_hidden(self.settings, settings):
            reason = (
                f"{HIDDEN} stands in place of a secret that is not stored here; write the secret "
                "itself, or leave the setting out"
            )
            raise InvalidStep(self.name, reason)


class StepTypes(NamedRegistry):
    """The types of steps of one workspace, with the types of their packets."""

    noun, hook = "type of step", "register_steps"

    def __init__(self) -> None:
        super().__init__()
        self.packets = PacketTypes()

    def freeze(self) -> None:
        """Finish start-up, for the types of packets too."""
        super().freeze()
        self.packets.freeze()

    def register(self, step_type: StepType, *, owner: str = "") -> StepType:
        """Add a type of step, or refuse one that could not run."""
        name = step_type.name
        self._refuse_if_frozen(name)
        check_word(name, "type of step")
        if name in self._entries:
            raise InvalidStep(name, "there is a type of that name; deregister it first")
        problem = find_schema_problem(step_type.settings)
        if problem is not None:
            raise InvalidStep(name, problem)
        foreign = [
            kind
            for kind in (*step_type.takes, *step_type.gives)
            if kind not in self.packets and kind != ANY
        ]
        if foreign:
            raise InvalidStep(name, f"there is no type of packet {foreign[0]!r}")
        self._entries[name] = replace(step_type, owner=owner) if owner else step_type
        return self._entries[name]  # type: ignore[no-any-return]

    def get(self, name: str) -> StepType:
        """Return a type of step, or raise `InvalidStep` with the names there are."""
        step_type: StepType | None = self._entries.get(name)
        if step_type is None:
            names = ", ".join(sorted(self._entries)) or "none"
            raise InvalidStep(name, f"there is no such type of step; the types are: {names}")
        return step_type

    def hide_secrets(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings without secrets; of a type that is not here, nothing is shown."""
        if name not in self._entries:
            return dict.fromkeys(settings, HIDDEN)
        hidden: dict[str, Any] = hide_secrets(self._entries[name].settings, settings)
        return hidden

    def restore_secrets(
        self, name: str, settings: Mapping[str, Any], stored: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return settings with the stored secrets where they have a mask."""
        if name not in self._entries:
            return settings
        restored: Mapping[str, Any] = restore_secrets(
            self._entries[name].settings, settings, stored
        )
        return restored

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def all(self) -> tuple[StepType, ...]:
        """Return every type of step, by name."""
        return tuple(self._entries[name] for name in sorted(self._entries))

    def find_misfit(self, names: tuple[str, ...]) -> str | None:
        """Return why steps of these types cannot follow one another, or None if they can."""
        available: set[str] = set()
        for position, name in enumerate(names, 1):
            step_type = self.get(name)
            takes = set(step_type.takes)
            is_fed = bool(available) if ANY in takes else bool(takes & available)
            if takes and not is_fed:
                expected = "any packet" if ANY in takes else " or ".join(sorted(takes))
                return (
                    f"step {position} ({name}) takes {expected}, and the steps before it give "
                    f"{', '.join(sorted(available)) or 'nothing'}"
                )
            available |= set(step_type.gives)
        return None


# The values and small contracts that a run of a step uses.


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


# The input of one run of a step, and the services of the workspace that it may use.


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
        """The intents of effects on pages; `features/workflows/jobs/effects.py` uses them."""

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
