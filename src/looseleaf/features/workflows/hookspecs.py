"""The specifications of the hooks that workflows add; docs/hooks.md has all hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.plugins.hookspecs import hookspec

if TYPE_CHECKING:
    from looseleaf.features.workflows.schedules import TaskSchedules
    from looseleaf.features.workflows.step import StepTypes
    from looseleaf.features.workflows.system_tasks import SystemTasks
    from looseleaf.settings import Settings


@hookspec
def register_steps(steps: StepTypes, settings: Settings) -> None:
    """Add types of steps and of packets, or remove some."""


@hookspec
def register_schedules(schedules: TaskSchedules, settings: Settings) -> None:
    """Define the times at which operations run."""


@hookspec
def register_system_tasks(tasks: SystemTasks, settings: Settings) -> None:
    """Add system tasks, which schedules and people can run, or remove some."""
