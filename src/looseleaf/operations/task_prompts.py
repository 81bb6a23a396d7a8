"""The prompts of system tasks: shown, replaced and reset."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.upkeep.system_tasks.prompts import PromptInfo, TaskPrompts
from looseleaf.workflows.parts import system_tasks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context


@operation(
    "looseleaf/list-task-prompts", permission="settings", categories=("system",), read_only=True
)
def list_prompts(context: Context) -> list[PromptInfo]:
    """List the prompts of system tasks, and which of them were replaced."""
    context.allow()
    return TaskPrompts(context.settings.root).list(system_tasks_of(context.parts).all())


@operation(
    "looseleaf/show-task-prompt", permission="settings", categories=("system",), read_only=True
)
def show_prompt(context: Context, task_type: str, prompt_key: str) -> PromptInfo:
    """Show one prompt of a system task: its text in force, the built-in one, its placeholders.

    Arguments:
        task_type: The task that has the prompt.
        prompt_key: The name of the prompt in its task.
    """
    context.allow()
    task = system_tasks_of(context.parts).get(task_type)
    return TaskPrompts(context.settings.root).info(task, prompt_key)


@operation(
    "looseleaf/set-task-prompt", permission="settings", categories=("system",), idempotent=True
)
def set_prompt(context: Context, task_type: str, prompt_key: str, *, prompt: str) -> PromptInfo:
    """Replace a prompt of a system task; a text without what the task needs is refused.

    Arguments:
        task_type: The task that has the prompt.
        prompt_key: The name of the prompt in its task.
        prompt: The new text, with the placeholders and markers that the task needs.
    """
    context.allow()
    task = system_tasks_of(context.parts).get(task_type)
    return TaskPrompts(context.settings.root).set(task, prompt_key, prompt)


@operation(
    "looseleaf/reset-task-prompt", permission="settings", categories=("system",), idempotent=True
)
def reset_prompt(context: Context, task_type: str, prompt_key: str) -> PromptInfo:
    """Go back to the built-in text of a prompt.

    Arguments:
        task_type: The task that has the prompt.
        prompt_key: The name of the prompt in its task.
    """
    context.allow()
    task = system_tasks_of(context.parts).get(task_type)
    return TaskPrompts(context.settings.root).reset(task, prompt_key)
