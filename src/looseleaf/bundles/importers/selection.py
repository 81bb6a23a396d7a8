"""The choice of the part of a source that is imported: one of its agents, one of its users."""

from __future__ import annotations

from looseleaf.agents.record import find_slug_problem
from looseleaf.bundles.importers.contract import SourceContent
from looseleaf.bundles.importers.left_out import NotImported
from looseleaf.errors.bundles import InvalidImport
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.bundles.importers.contract import SourcePage


@value
class Selection:
    """The part of a source to import.

    Fields:
        agent: The only agent of the source; "" for all of them.
        user: The only user of the source; 0 for the one that it has.
        has_target_agent: Whether all pages go to one agent here, which is named.
    """

    agent: str = ""
    user: int = 0
    has_target_agent: bool = False


def select_pages(content: SourceContent, selection: Selection) -> SourceContent:
    """Return the part of a source that is selected; the rest is left out with the reason."""
    page_agents = {page.agent for page in content.pages}
    pipeline_agents = {pipeline.agent for pipeline in content.pipelines}
    agents = sorted((page_agents | pipeline_agents) - {""})
    users = sorted({page.user for page in content.pages if page.user})
    _require_choice(agents, selection)
    user = selection.user or (users[0] if len(users) == 1 else 0)
    pages, left_out = [], list(content.left_out)
    for page in content.pages:
        reason = _find_refusal(page, selection, user)
        if reason:
            left_out += [NotImported(path, reason) for path in page.sources]
        else:
            pages.append(page)
    pipelines = []
    for source in content.pipelines:
        reason = _find_agent_refusal(source.agent, selection)
        if reason:
            left_out.append(NotImported(f"pipeline {source.pipeline.id}", reason))
        else:
            pipelines.append(source)
    entries = tuple(sorted(left_out, key=lambda entry: entry.source))
    return SourceContent(tuple(pages), entries, tuple(pipelines), content.uploads)


def _require_choice(agents: list[str], selection: Selection) -> None:
    if selection.agent and selection.agent not in agents:
        names = ", ".join(agents) or "none"
        raise InvalidImport(
            f"The source has no agent {selection.agent!r}. Agents of the source: {names}."
        )
    if selection.has_target_agent and len(agents) > 1 and not selection.agent:
        raise InvalidImport(
            f"The source has several agents ({_format_names(agents)}), and one agent is named "
            "here. Name the agent of the source (--source-agent), or leave --agent out: each agent "
            "is then imported under its own name."
        )


def _find_refusal(page: SourcePage, selection: Selection, user: int) -> str:
    """Return why a page is not selected, or "" if it is."""
    reason = _find_agent_refusal(page.agent, selection)
    if reason:
        return reason
    if page.user and page.user != user:
        advice = f"import it with --source-user {page.user} --user ID"
        return f"it belongs to the user {page.user} of the source; {advice}"
    return ""


def _find_agent_refusal(agent: str, selection: Selection) -> str:
    """Return why an agent of the source is not selected, or "" if it is."""
    if agent and selection.agent not in ("", agent):
        return f"it belongs to the agent {agent} of the source"
    if agent and not selection.has_target_agent:
        problem = find_slug_problem(agent)
        if problem:
            return f"{problem}; import it with --source-agent {agent} --agent SLUG"
    return ""


def _format_names(names: Iterable[str], limit: int = 10) -> str:
    parts = list(names)
    rest = f" and {len(parts) - limit} more" if len(parts) > limit else ""
    return ", ".join(parts[:limit]) + rest
