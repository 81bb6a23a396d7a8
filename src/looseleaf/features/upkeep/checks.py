"""The check of the doctor that upkeep adds: system tasks, and runs that were stopped half-way."""

from __future__ import annotations

from looseleaf.agents.record import list_readable_agents
from looseleaf.catalog.page_checks import Finding
from looseleaf.features.upkeep.daily_task.compaction import Compactions
from looseleaf.features.workflows.parts import system_tasks_of
from looseleaf.features.workflows.system_tasks import check_tasks, list_conditions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.catalog.page_checks import CheckRun


def check_upkeep(run: CheckRun) -> Iterator[Finding]:
    """Check that system tasks run and do their work, and that none was left half done."""
    context = run.context
    agents = list(list_readable_agents(context.parts.agents))
    tasks = system_tasks_of(context.parts).all()
    yield from check_tasks(list_conditions(tasks, agents, context.settings, context.clock()))
    for name in sorted(set(context.settings.system_tasks_off) - {task.type for task in tasks}):
        advice = "Correct system_tasks_off in looseleaf.toml; looseleaf system tasks lists them."
        yield Finding("upkeep", "warning", f"there is no system task {name!r} to be off", advice)
    for agent in agents:
        compactions = Compactions(
            context.settings.root, context.parts.pages, context.parts.history, agent.id
        )
        for record in compactions.list_unfinished():
            detail = f"the upkeep run {record.id} of {agent.slug} was stopped half-way"
            advice = f"looseleaf upkeep run --agent {agent.slug} completes it or takes it back."
            yield Finding("upkeep", "warning", detail, advice)
