"""Errors of system tasks and their prompts."""

from __future__ import annotations

from looseleaf.errors import NotFound, _InvalidThing


class InvalidTask(_InvalidThing):
    """A system task that could not run."""

    code = "invalid_task"
    template = "The system task {name!r} cannot be registered: {why}."


class InvalidTaskParameters(_InvalidThing):
    """Parameters that a system task does not take, or cannot use."""

    code = "task_params_invalid"
    template = "The parameters of the task {name!r} cannot be used: {why}."


class TaskNotRunnable(_InvalidThing):
    """A system task that people cannot run."""

    code = "task_manual_run_unsupported"
    template = "The task {name!r} cannot be run by hand: {why}."


class InvalidPrompt(_InvalidThing):
    """A prompt of a system task that could not work."""

    code = "invalid_prompt"
    template = "The prompt {name!r} cannot be used: {why}."


class TaskMissing(NotFound):
    """No system task has that type; `available` names the types there are."""

    code = "task_type_not_found"

    def __init__(self, name: str, available: tuple[str, ...]) -> None:
        self.name, self.available = name, available
        types = ", ".join(available) or "none"
        super().__init__(f"There is no system task {name!r}. Available tasks: {types}.")


class TaskRunMissing(NotFound):
    """No run of a system task has that id."""

    code = "task_run_missing"

    def __init__(self, run: str, agent: str) -> None:
        self.run, self.agent = run, agent
        super().__init__(
            f"There is no run {run!r} of {agent}. looseleaf upkeep log lists the runs."
        )


class TaskPromptMissing(NotFound):
    """A system task has no prompt of that key; `available` names the keys there are."""

    code = "invalid_prompt_key"

    def __init__(self, task: str, key: str, available: tuple[str, ...]) -> None:
        self.task, self.key, self.available = task, key, available
        keys = ", ".join(available) or "none"
        super().__init__(f"The task {task} has no prompt {key!r}. Available prompts: {keys}.")
