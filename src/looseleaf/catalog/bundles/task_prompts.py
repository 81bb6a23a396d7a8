"""The prompts of system tasks that travel with an agent, as bundles read and change them."""

from __future__ import annotations

from looseleaf.access.principals import authorize
from looseleaf.upkeep.system_tasks.prompts import TaskPrompts, check_prompt
from looseleaf.workflows.parts import system_tasks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.upkeep.system_tasks.task import SystemTask, TaskPrompt


class WorkspacePrompts:
    """The prompts of tasks that run for one agent, by `task/key`; prompts of other tasks stay."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._prompts = TaskPrompts(context.settings.root)

    def texts(self) -> dict[str, str]:
        """Return the text of every prompt that was replaced."""
        overrides = self._prompts.overrides()
        return {
            f"{task_type}/{key}": text
            for task_type, texts in sorted(overrides.items())
            for key, text in sorted(texts.items())
            if self.is_known(f"{task_type}/{key}")
        }

    def builtin_texts(self) -> dict[str, str]:
        """Return the text that every prompt has if nobody replaced it."""
        return {
            f"{task.type}/{prompt.key}": prompt.default
            for task in system_tasks_of(self._context.parts).all()
            for prompt in task.prompts
            if task.per_agent
        }

    def is_known(self, name: str) -> bool:
        """Return whether a task that runs for an agent has such a prompt."""
        return self._find(name) is not None

    def check(self, name: str, text: str) -> None:
        """Raise `InvalidPrompt` if the task could not use the text."""
        entry = self._find(name)
        if entry is not None:
            check_prompt(*entry, text)

    def require_right(self) -> None:
        """Raise `Forbidden` unless the principal may change settings."""
        authorize(self._context.principal, "settings")

    def set(self, name: str, text: str | None) -> None:
        """Replace a prompt; None goes back to the built-in text."""
        entry = self._find(name)
        if entry is None:
            return  # its task is no longer there, so that nothing uses it
        task, prompt = entry
        if text is None:
            self._prompts.reset(task, prompt.key)
        else:
            self._prompts.set(task, prompt.key, text)

    def _find(self, name: str) -> tuple[SystemTask, TaskPrompt] | None:
        task_type, _, key = name.partition("/")
        tasks = system_tasks_of(self._context.parts).all()
        task = next((task for task in tasks if task.type == task_type and task.per_agent), None)
        prompt = task.prompt(key) if task is not None else None
        return None if task is None or prompt is None else (task, prompt)
