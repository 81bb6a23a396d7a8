"""The parts of a workspace that an install of a bundle changes, and recovery after a kill."""

from __future__ import annotations

from looseleaf.access.principals import authorize
from looseleaf.catalog.new_ids import find_highest_agent_id
from looseleaf.features.bundles.install_target import InstallTarget, is_open, recover_if_idle
from looseleaf.features.bundles.ledger import Ledgers
from looseleaf.features.workflows.parts import (
    definitions_of,
    resources_of,
    step_types_of,
    system_tasks_of,
)
from looseleaf.features.workflows.system_tasks import TaskPrompts, check_prompt
from looseleaf.features.workflows.uploads import limits_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.features.workflows.system_tasks import SystemTask, TaskPrompt
    from looseleaf.memory.scope import Scope


# The prompts of system tasks that travel with an agent, as bundles read and change them.


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


def install_target_of(context: Context) -> InstallTarget:
    """Return the parts of the workspace that an install changes."""
    parts = context.parts

    def is_starter(scope: Scope) -> bool:
        latest = context.history.latest(scope)
        return latest is not None and latest.operation == "scaffold"

    return InstallTarget(
        agents=parts.agents,
        pages=context.pages,
        definitions=lambda: definitions_of(parts),
        has_definitions=parts.has_accounts,
        uploads=lambda: resources_of(parts).uploads,
        limits=limits_of(context.settings),
        prompts=WorkspacePrompts(context),
        sites=frozenset(site.name for site in context.settings.wordpress_sites),
        step_types=step_types_of(parts),
        ledgers=Ledgers(context.settings.root),
        change=context.import_change("import bundle"),
        is_starter=is_starter,
        clock=context.clock,
        highest_id=lambda: find_highest_agent_id(context),
        report=parts.report,
        show_progress=parts.show_progress,
    )


def recover_bundles(context: Context) -> None:
    """Undo an import that a killed process has left unfinished."""
    destination = install_target_of(context)
    if is_open(destination):
        recover_if_idle(destination)
