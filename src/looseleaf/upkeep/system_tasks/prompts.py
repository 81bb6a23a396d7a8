"""Prompts of system tasks that people replaced: kept in one file, checked before they are used."""

from __future__ import annotations

from looseleaf.errors.upkeep import InvalidPrompt, TaskPromptMissing
from looseleaf.memory.store import hash_content
from looseleaf.upkeep.record_files import UpkeepRecords
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from looseleaf.upkeep.system_tasks.task import SystemTask, TaskPrompt

_FILE = "prompts"
LONGEST_PROMPT = 100_000


@value(kw_only=True)
class PromptInfo:
    """A prompt of a task as it is in force.

    Fields:
        task_type: The task.
        prompt_key: The name of the prompt in its task.
        label: The name for people.
        description: What the prompt is for.
        variables: The placeholders, each with what it stands for.
        required: The texts that a replacement must have.
        default: The text if nobody replaced it.
        has_override: Whether it was replaced.
        override: The replacement, or "" if there is none.
        effective: The text in force.
        effective_source: override or builtin.
        effective_hash: The sha256 of the text in force.
    """

    task_type: str
    prompt_key: str
    label: str
    description: str
    variables: Mapping[str, str]
    required: tuple[str, ...]
    default: str
    has_override: bool
    override: str
    effective: str
    effective_source: str
    effective_hash: str


class TaskPrompts:
    """The prompts of all tasks, with the texts that replace them."""

    def __init__(self, root: str) -> None:
        self._records = UpkeepRecords(root)

    def text(self, task: SystemTask, key: str) -> str:
        """Return the text of a prompt that is in force."""
        return self.overrides().get(task.type, {}).get(key) or _find(task, key).default

    def info(self, task: SystemTask, key: str) -> PromptInfo:
        """Describe a prompt."""
        prompt = _find(task, key)
        override = self.overrides().get(task.type, {}).get(key, "")
        effective = override or prompt.default
        return PromptInfo(
            task_type=task.type,
            prompt_key=key,
            label=prompt.label,
            description=prompt.description,
            variables=dict(prompt.variables),
            required=prompt.required,
            default=prompt.default,
            has_override=bool(override),
            override=override,
            effective=effective,
            effective_source="override" if override else "builtin",
            effective_hash=hash_content(effective.encode()),
        )

    def list(self, tasks: Iterable[SystemTask]) -> list[PromptInfo]:
        """Describe every prompt."""
        return [self.info(task, prompt.key) for task in tasks for prompt in task.prompts]

    def set(self, task: SystemTask, key: str, text: str) -> PromptInfo:
        """Replace a prompt, or raise `InvalidPrompt` if the task could not use it."""
        check_prompt(task, _find(task, key), text)
        with self._records.lock():
            overrides = self.overrides()
            overrides.setdefault(task.type, {})[key] = text
            self._records.write(_FILE, overrides)
        return self.info(task, key)

    def reset(self, task: SystemTask, key: str) -> PromptInfo:
        """Remove a replacement."""
        _find(task, key)
        with self._records.lock():
            overrides = self.overrides()
            if overrides.get(task.type, {}).pop(key, None) is not None:
                overrides = {name: texts for name, texts in overrides.items() if texts}
                self._records.write(_FILE, overrides)
        return self.info(task, key)

    def overrides(self) -> dict[str, dict[str, str]]:
        """Return every replacement by task and key."""
        return self._records.read(_FILE) or {}


def check_prompt(task: SystemTask, prompt: TaskPrompt, text: str) -> None:
    """Raise `InvalidPrompt` if a text lacks a placeholder or marker that the task needs."""
    name = f"{task.type}/{prompt.key}"
    if not text.strip():
        raise InvalidPrompt(name, "it is empty; reset it to go back to the built-in text")
    if len(text) > LONGEST_PROMPT:
        raise InvalidPrompt(name, f"it has more than {LONGEST_PROMPT:,} characters")
    missing = [part for part in prompt.required if part not in text]
    if missing:
        raise InvalidPrompt(name, f"it lacks {', '.join(missing)}")


def _find(task: SystemTask, key: str) -> TaskPrompt:
    prompt = task.prompt(key)
    if prompt is None:
        raise TaskPromptMissing(task.type, key, tuple(prompt.key for prompt in task.prompts))
    return prompt
