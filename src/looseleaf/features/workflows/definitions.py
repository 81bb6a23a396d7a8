"""Pipelines and flows: their values, slugs and rules, and the contracts of their store."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata

from looseleaf.errors import Invalid
from looseleaf.errors.features import InvalidWorkflow
from looseleaf.features.workflows.artifacts import normalize_egress
from looseleaf.files.folders import casefold_name
from looseleaf.memory.hidden_characters import find_invisible
from looseleaf.memory.policy import parse_tool_policy
from looseleaf.memory.scope import check_filename
from looseleaf.values import FrozenDict, as_dict, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any, Literal, Protocol

    from looseleaf.features.workflows.step import StepTypes
    from looseleaf.memory.registry import FileRegistry, RegisteredFile

    QueueMode = Literal["static", "drain", "loop"]
else:
    Protocol = object


class Pipelines(Protocol):
    """Pipelines, by ids that are never given twice."""

    def find(self, pipeline_id: int) -> Pipeline | None:
        """Find a pipeline."""

    def list(
        self,
        *,
        agents: Sequence[int] | None = None,
        slug: str = "",
        limit: int = 0,
        offset: int = 0,
    ) -> tuple[list[Pipeline], int]:
        """List pipelines by name, of agents or of all, of a slug, and count all of them."""

    def add(self, pipeline: Pipeline, new_flows: Sequence[Flow] = ()) -> Pipeline:
        """Store a new pipeline, with its flows or not at all.

        A pipeline without a slug gets one that no other pipeline of its agent has. A slug that is
        taken is refused with `SlugTaken`, here and in `change`.
        """

    def change(self, pipeline_id: int, edit: Callable[[Pipeline], Pipeline]) -> Pipeline | None:
        """Edit a pipeline exclusively, or None if there is none.

        Settings of flows for steps that the pipeline no longer has are removed.
        """

    def delete(self, pipeline_id: int, check: Callable[[Pipeline], None]) -> Sequence[Flow] | None:
        """Delete a pipeline with its flows, and return the flows; `check` may refuse before."""


class Flows(Protocol):
    """Flows, by ids that are never given twice."""

    def find(self, flow_id: int) -> Flow | None:
        """Find a flow."""

    def list(
        self,
        *,
        pipeline: int = 0,
        agents: Sequence[int] | None = None,
        slug: str = "",
        limit: int = 0,
        offset: int = 0,
    ) -> tuple[list[Flow], int]:
        """List flows by name, of a pipeline, of agents or of all, of a slug, and count them."""

    def add(self, flow: Flow) -> Flow:
        """Store a new flow; without a slug, it gets one that no other flow of its pipeline has.

        A slug that is taken is refused with `SlugTaken`, here and in `change`.
        """

    def change(self, flow_id: int, edit: Callable[[Flow], Flow]) -> Flow | None:
        """Edit a flow exclusively, or None if there is none."""

    def delete(self, flow_id: int, check: Callable[[Flow], None]) -> bool:
        """Delete a flow and return whether there was one; `check` may refuse before."""

    def take_prompt(self, flow_id: int, key: str) -> str | None:
        """Pop the next prompt of the queue by its mode; return None if it is empty.

        The same key (of a job and its step) gets the same prompt again, so that a step that is
        repeated after a crash does not take a second prompt.
        """


class Definitions(Protocol):
    """Pipelines and flows, in one database."""

    @property
    def pipelines(self) -> Pipelines:
        """The pipelines."""

    @property
    def flows(self) -> Flows:
        """The flows."""


# A pipeline: a reusable workflow, its steps in order, and the slice of memory that it selects.


@value
class Step:
    """One step of a pipeline; its id is unique in the pipeline and never changes.

    Fields:
        id: The id of a step that is there already; without it, a new step.
        type: The type of step, such as input, ai or memory_update.
        label: The name for people; without it, the type in words.
        settings: The settings of the step, as its type describes them.
    """

    id: str = ""
    type: str = ""
    label: str = ""
    settings: Mapping[str, Any] = FrozenDict()

    @property
    def title(self) -> str:
        """The label for people; without one, the type in words."""
        words = self.type.replace("_", " ").replace("-", " ").capitalize()
        return self.label or ("AI" if self.type == "ai" else words)


@value(kw_only=True)
class Pipeline:
    """A reusable workflow of one agent; `memory_files` are never one of the steps."""

    id: int  # 0 until it is stored
    slug: str
    name: str
    agent_id: int
    user_id: int
    system_prompt: str = ""
    memory_files: tuple[str, ...] = ()
    tool_policy: Mapping[str, Any] = FrozenDict()  # as in an agent's configuration; {} narrows none
    steps: tuple[Step, ...] = ()
    created: float = 0.0
    updated: float = 0.0

    @property
    def version(self) -> str:
        """The hash of the definition, for compare-and-swap."""
        return hash_definition(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the pipeline as plain JSON, as the database and jobs keep it."""
        return as_dict(self) | {"steps": [as_dict(step) for step in self.steps]}

    def step(self, step_id: str) -> Step | None:
        """Find a step by its id."""
        return next((step for step in self.steps if step.id == step_id), None)

    def position(self, step_id: str) -> int | None:
        """Return the position of a step among the steps, from 0."""
        return next((n for n, step in enumerate(self.steps) if step.id == step_id), None)


def restore_pipeline(fields: Mapping[str, Any]) -> Pipeline:
    """Build a pipeline from the JSON that `to_json` gave."""
    steps = tuple(Step(**step) for step in fields["steps"])
    memory_files = tuple(fields["memory_files"])
    return Pipeline(**{**fields, "steps": steps, "memory_files": memory_files})


def hash_definition(fields: Mapping[str, Any]) -> str:
    """Return the hash of a definition, without the times at which it was saved."""
    hashed_fields = {
        name: field for name, field in fields.items() if name not in ("created", "updated")
    }
    text = json.dumps(hashed_fields, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# A flow: one configured and scheduled use of a pipeline, with memory and prompts of its own.


MANUAL, ONE_TIME, CRON = "manual", "one_time", "cron"
QUEUE_MODES: tuple[QueueMode, ...] = ("static", "drain", "loop")


@value
class Schedule:
    """When a flow runs: a key of an interval, cron fields, one time, or only when asked."""

    interval: str = MANUAL  # a key of an interval, or manual, one_time, cron
    cron: str = ""  # with interval cron: five fields
    at: float = 0.0  # with interval one_time: seconds since 1970
    enabled: bool = True  # a flow that is paused keeps its schedule


@value
class QueuedPrompt:
    """A prompt that waits in the queue of a flow."""

    prompt: str
    added: float = 0.0


@value(kw_only=True)
class Flow:
    """One use of a pipeline; `step_settings` override those of the step with the same id."""

    id: int  # 0 until it is stored
    pipeline_id: int
    slug: str
    name: str
    agent_id: int
    user_id: int
    memory_files: tuple[str, ...] = ()
    step_settings: Mapping[str, Mapping[str, Any]] = FrozenDict()
    prompt_queue: tuple[QueuedPrompt, ...] = ()
    queue_mode: QueueMode = "static"
    schedule: Schedule = Schedule()
    run_artifacts: Mapping[str, Any] = FrozenDict()  # egress policy
    created: float = 0.0
    updated: float = 0.0

    @property
    def version(self) -> str:
        """The hash of the definition, for compare-and-swap."""
        return hash_definition(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the flow as plain JSON, as the database and jobs keep it."""
        queue = [as_dict(prompt) for prompt in self.prompt_queue]
        return as_dict(self) | {"prompt_queue": queue, "schedule": as_dict(self.schedule)}

    def settings_of(self, step: Step) -> dict[str, Any]:
        """Return the settings that a step runs with in this flow."""
        return {**step.settings, **self.step_settings.get(step.id, {})}


def pause(flow: Flow) -> Flow:
    """Return a flow whose schedule is paused until a person enables it."""
    return replace(flow, schedule=replace(flow.schedule, enabled=False))


def restore_flow(fields: Mapping[str, Any]) -> Flow:
    """Build a flow from the JSON that `to_json` gave."""
    parts = {
        "memory_files": tuple(fields["memory_files"]),
        "prompt_queue": tuple(QueuedPrompt(**prompt) for prompt in fields["prompt_queue"]),
        "schedule": Schedule(**fields["schedule"]),
    }
    return Flow(**{**fields, **parts})


def format_flow_step(step_id: str, flow_id: int) -> str:
    """Name a step of a flow as Data Machine's REST interface does: `{step id}_{flow id}`."""
    return f"{step_id}_{flow_id}"


def parse_flow_step(name: str) -> tuple[str, int] | None:
    """Parse the name of a step of a flow, or None if the text is no such name."""
    step_id, _, flow_id = name.rpartition("_")
    is_number = flow_id.isascii() and flow_id.isdigit() and len(flow_id) < 10
    return (step_id, int(flow_id)) if step_id and is_number else None


# Slugs of pipelines and flows: made from a name once, stable from then on, unique among
# siblings.
# Bundles and exported files name a pipeline by its slug, so a new name does not change it.


MAX_SLUG = 64
_RUN = re.compile(r"[^a-z0-9]+")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def make_slug(name: str, *, fallback: str, used_slugs: Collection[str] = ()) -> str:
    """Create a slug from a name, with -2, -3 and so on if a sibling has it already."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = _RUN.sub("-", plain).strip("-")[:MAX_SLUG].strip("-") or fallback
    if slug.isdigit():
        slug = f"{fallback}-{slug}"[:MAX_SLUG]  # digits alone would be taken for an id
    candidate, number = slug, 1
    while candidate in used_slugs:
        number += 1
        suffix = f"-{number}"
        candidate = slug[: MAX_SLUG - len(suffix)].rstrip("-") + suffix
    return candidate


def check_slug(slug: str, *, noun: str) -> str:
    """Return a slug, or raise `InvalidWorkflow` if no pipeline or flow can have it."""
    if len(slug) > MAX_SLUG or not _SLUG.fullmatch(slug):
        reason = (
            f"a slug has lower-case letters, digits and single -, at most {MAX_SLUG} characters"
        )
        raise InvalidWorkflow(noun, f"slug {slug!r}: {reason}")
    if slug.isdigit():
        raise InvalidWorkflow(noun, f"slug {slug!r}: digits alone would be taken for an id")
    return slug


# The rules for a pipeline or flow before it is saved; each refusal says what to do.


PIPELINE, FLOW = "pipeline", "flow"
PIPELINE_MODE = "pipeline"  # the mode of prompts in which memory files are given
MOST_STEPS = 50
MOST_FILES = 50
MOST_PROMPTS = 1000
MOST_CHARACTERS = 100_000  # of a system prompt, or of a queued prompt
MOST_SETTINGS = 256_000  # characters of the settings of all steps as JSON
MOST_TITLE = 200


def check_pipeline(pipeline: Pipeline, registry: FileRegistry, types: StepTypes) -> Pipeline:
    """Return a pipeline, its memory files each once, or raise `InvalidWorkflow`."""
    _check_titles(PIPELINE, pipeline.name, pipeline.slug)
    _check_length(PIPELINE, "system_prompt", pipeline.system_prompt)
    parse_tool_policy(pipeline.tool_policy or None)
    check_steps(pipeline.steps, types)
    return replace(
        pipeline, memory_files=check_memory_files(PIPELINE, pipeline.memory_files, registry)
    )


def check_flow(flow: Flow, pipeline: Pipeline, registry: FileRegistry, types: StepTypes) -> Flow:
    """Return a flow, its memory files each once, or raise `InvalidWorkflow`."""
    _check_titles(FLOW, flow.name, flow.slug)
    if flow.queue_mode not in QUEUE_MODES:
        modes = ", ".join(QUEUE_MODES)
        raise InvalidWorkflow(FLOW, f"queue_mode {flow.queue_mode!r} is unknown; there are {modes}")
    if len(flow.prompt_queue) > MOST_PROMPTS:
        raise InvalidWorkflow(FLOW, f"its queue has more than {MOST_PROMPTS} prompts")
    for entry in flow.prompt_queue:
        if not entry.prompt.strip():
            raise InvalidWorkflow(FLOW, "a prompt of its queue is empty")
        _check_length(FLOW, "prompt", entry.prompt)
    _check_step_settings(flow, pipeline, types)
    _check_json(FLOW, "run_artifacts", flow.run_artifacts)
    return replace(
        flow,
        memory_files=check_memory_files(FLOW, flow.memory_files, registry),
        run_artifacts=normalize_egress(flow.run_artifacts),
    )


def check_memory_files(noun: str, names: Iterable[str], registry: FileRegistry) -> tuple[str, ...]:
    """Return the names of pages, each once; a core file is refused, however it is spelled."""
    files: dict[str, str] = {}
    for name in names:
        registered_file = registry.get(check_filename(name))
        if registered_file is not None and is_core(registered_file):
            reason = "it is a core file, which every prompt has already (choose other pages)"
            raise InvalidWorkflow(noun, f"memory file {name}: {reason}")
        files.setdefault(casefold_name(name), name)
    if len(files) > MOST_FILES:
        raise InvalidWorkflow(noun, f"it selects more than {MOST_FILES} memory files")
    return tuple(files.values())


def is_core(file: RegisteredFile) -> bool:
    """Return whether a file is given by the registry already, so that no pipeline may select it."""
    return file.protected or file.composable or file.is_injected_in(PIPELINE_MODE)


def check_steps(steps: tuple[Step, ...], types: StepTypes) -> None:
    """Raise if steps have the same id, unknown types or settings, or do not fit together."""
    if len(steps) > MOST_STEPS:
        raise InvalidWorkflow(PIPELINE, f"it has more than {MOST_STEPS} steps")
    ids = [step.id for step in steps]
    for number, step in enumerate(steps, 1):
        place = f"step {number}"
        if not is_step_id(step.id) or ids.count(step.id) > 1:
            reason = "an id is one word of lower-case letters, digits, - and _, once in a pipeline"
            raise InvalidWorkflow(PIPELINE, f"{place} has the id {step.id!r}: {reason}")
        if len(step.label) > MOST_TITLE or find_invisible(step.label, allow_joiners=True):
            raise InvalidWorkflow(PIPELINE, f"{place}: its label is one line of visible characters")
        _check_settings(place, step.type, step.settings, types)
    _check_json(PIPELINE, "settings", [dict(step.settings) for step in steps])
    misfit = types.find_misfit(tuple(step.type for step in steps))
    if misfit is not None:
        raise InvalidWorkflow(PIPELINE, f"its steps do not fit together: {misfit}")


def is_step_id(text: str) -> bool:
    """Return whether a text can be the id of a step, which is used in addresses and file names."""
    letters = text.replace("-", "").replace("_", "")
    is_plain = letters.isascii() and letters.isalnum() and letters.lower() == letters
    return is_plain and len(text) <= 64 and text[0].isalnum()


def number_steps(steps: Iterable[Step], previous: Iterable[Step] = ()) -> tuple[Step, ...]:
    """Return an id to every step that has none: its type, with a number if that is taken.

    An id of the steps that are replaced is not given to another step, so that the settings of
    flows never change their meaning.
    """
    row = tuple(steps)
    step_ids = {step.id for step in (*row, *previous) if step.id}
    numbered_steps = []
    for step in row:
        if not step.id:
            new_id = make_slug(step.type, fallback="step", used_slugs=step_ids)
            step_ids.add(new_id)
            step = replace(step, id=new_id)  # noqa: PLW2901 - the same step, with its id
        numbered_steps.append(step)
    return tuple(numbered_steps)


def _check_step_settings(flow: Flow, pipeline: Pipeline, types: StepTypes) -> None:
    """Raise if a flow has settings for a missing step, or settings that are invalid."""
    for step_id, settings in flow.step_settings.items():
        step = pipeline.step(step_id)
        if step is None:
            ids = ", ".join(step.id for step in pipeline.steps) or "none"
            reason = f"the pipeline has no step {step_id!r}; its steps are: {ids}"
            raise InvalidWorkflow(FLOW, reason)
        if not isinstance(settings, dict):
            raise InvalidWorkflow(FLOW, f"the settings of step {step_id} are an object")
        _check_settings(f"step {step_id}", step.type, flow.settings_of(step), types, noun=FLOW)
    _check_json(FLOW, "step_settings", flow.step_settings)


def _check_settings(
    place: str,
    step_type: str,
    settings: Mapping[str, object],
    types: StepTypes,
    *,
    noun: str = PIPELINE,
) -> None:
    try:
        types.get(step_type).check_settings(settings)
    except Invalid as error:
        raise InvalidWorkflow(noun, f"{place}: {str(error).rstrip('.')}") from None


def _check_titles(noun: str, name: str, slug: str) -> None:
    if not name.strip() or len(name) > MOST_TITLE or find_invisible(name, allow_joiners=True):
        reason = f"its name is one line of at most {MOST_TITLE} visible characters"
        raise InvalidWorkflow(noun, reason)
    if slug:
        check_slug(slug, noun=noun)


def _check_length(noun: str, field: str, text: str) -> None:
    if len(text) > MOST_CHARACTERS or "\0" in text:
        reason = f"{field} has at most {MOST_CHARACTERS} characters, and no NUL"
        raise InvalidWorkflow(noun, reason)


def _check_json(noun: str, field: str, document: object) -> None:
    try:
        size = len(json.dumps(document, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidWorkflow(noun, f"{field} is not JSON ({error})") from None
    if size > MOST_SETTINGS or "\\u0000" in json.dumps(document):
        raise InvalidWorkflow(noun, f"{field} has at most {MOST_SETTINGS} characters, and no NUL")
