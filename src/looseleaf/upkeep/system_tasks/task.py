"""The contract of a system task: its declaration, the input of a run, and its result."""

from __future__ import annotations

from looseleaf.errors.upkeep import InvalidTask, TaskMissing
from looseleaf.memory.named_registry import NamedRegistry
from looseleaf.memory.registry import OWNER, check_word
from looseleaf.values import FrozenDict, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.parts import WorkspaceServices
    from looseleaf.settings import Settings

SCHEDULE, MANUAL = "schedule", "manual"  # what started a run


@value
class TaskPrompt:
    """A text that a task gives to a model, and that people may replace.

    Fields:
        key: The name of the prompt in its task.
        label: The name for people.
        description: What the prompt is for, in one sentence.
        default: The text if nobody replaced it.
        variables: The placeholders, `{{name}}`, each with what it stands for.
        required: The texts without which the task cannot work.
    """

    key: str
    label: str
    description: str
    default: str
    variables: Mapping[str, str] = FrozenDict()
    required: tuple[str, ...] = ()


@value(kw_only=True)
class TaskRun:
    """All that one run of a task is given.

    Fields:
        id: The id of the run.
        parts: The parts of the workspace.
        settings: The settings, with those that were changed while running.
        agent: The agent that the run is for; None for a task of the whole workspace.
        params: The parameters of the run.
        trigger: What started the run: schedule or manual.
        surface: The surface by which it was started.
        prompt: Gives the text of a prompt by its key.
        is_cancelled: Says whether the run is to end; a long run asks now and then.
    """

    id: str
    parts: WorkspaceServices
    settings: Settings
    agent: AgentRecord | None
    params: Mapping[str, Any]
    trigger: str
    surface: str
    prompt: Callable[[str], str]
    is_cancelled: Callable[[], bool]


@value
class TaskResult:
    """The result of one run.

    Fields:
        status: One word of the task's own, such as skipped or compacted.
        reason: Why, in one sentence.
        is_failure: Whether the run did not do what it is for.
        is_retryable: Whether a failure passes by itself, so that a later attempt may succeed.
        details: Figures and texts, as plain JSON.
    """

    status: str
    reason: str = ""
    is_failure: bool = False
    is_retryable: bool = False
    details: Mapping[str, Any] = FrozenDict()


@value(kw_only=True)
class SystemTask:
    """A task that can be scheduled, and run by hand if it says so.

    Fields:
        type: The word by which schedules and people name it.
        label: The name for people.
        description: What it does, in one sentence.
        run: The function that does it.
        setting: The setting that switches it on, or "" if it is always on.
        trigger: The schedule, for people, or "" if only people run it.
        supports_run: Whether people may run it now.
        per_agent: Whether a run is for one agent.
        params: The parameters that a run takes, each with what it means.
        prompts: The prompts that people may replace.
        attention: The statuses that people should look at when they repeat.
        permission: The permission that is needed to run it by hand.
        owner: The plugin that registered it.
    """

    type: str
    label: str
    description: str
    run: Callable[[TaskRun], TaskResult]
    setting: str = ""
    trigger: str = ""
    supports_run: bool = False
    per_agent: bool = True
    params: Mapping[str, str] = FrozenDict()
    prompts: tuple[TaskPrompt, ...] = ()
    attention: tuple[str, ...] = ("failed",)
    permission: str = "settings"
    owner: str = OWNER

    def is_enabled(self, settings: Settings) -> bool:
        """Return whether the settings switch the task on."""
        is_on = bool(getattr(settings, self.setting)) if self.setting else True
        return is_on and self.type not in settings.system_tasks_off

    def prompt(self, key: str) -> TaskPrompt | None:
        """Find a prompt by its key."""
        return next((prompt for prompt in self.prompts if prompt.key == key), None)


class SystemTasks(NamedRegistry):
    """The system tasks of one workspace."""

    noun, hook = "system task", "register_system_tasks"

    def __init__(self, setting_names: Iterable[str]) -> None:
        super().__init__()
        self.setting_names = frozenset(setting_names)

    def register(self, task: SystemTask, *, owner: str = "") -> SystemTask:
        """Add a task, or refuse one that could not run."""
        self._refuse_if_frozen(task.type)
        check_word(task.type, "task's type")
        if task.type in self._entries:
            raise InvalidTask(task.type, "there is one of that type; deregister it first")
        if task.setting and task.setting not in self.setting_names:
            raise InvalidTask(task.type, f"there is no setting {task.setting!r}")
        keys = [prompt.key for prompt in task.prompts]
        if len(set(keys)) < len(keys):
            raise InvalidTask(task.type, "two of its prompts have the same key")
        self._entries[task.type] = replace(task, owner=owner) if owner else task
        return self._entries[task.type]  # type: ignore[no-any-return]

    def get(self, task_type: str) -> SystemTask:
        """Return a task, or raise `TaskMissing` with the types there are."""
        task: SystemTask | None = self._entries.get(task_type)
        if task is None:
            raise TaskMissing(task_type, tuple(sorted(self._entries)))
        return task

    def all(self) -> tuple[SystemTask, ...]:
        """Return every task, by type."""
        return tuple(self._entries[name] for name in sorted(self._entries))
