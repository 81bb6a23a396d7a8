"""The rules for a pipeline or flow before it is saved; each refusal says what to do."""

from __future__ import annotations

import json

from looseleaf.errors import Invalid
from looseleaf.errors.workflows import InvalidWorkflow
from looseleaf.files.folders import casefold_name
from looseleaf.memory.policy import parse_tool_policy
from looseleaf.memory.scope import check_filename
from looseleaf.memory.text.hidden_characters import find_invisible
from looseleaf.values import replace
from looseleaf.workflows.artifacts.egress import normalize_egress
from looseleaf.workflows.flow import QUEUE_MODES
from looseleaf.workflows.slug import check_slug, make_slug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from looseleaf.memory.registry import FileRegistry, RegisteredFile
    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline, Step
    from looseleaf.workflows.step import StepTypes

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
