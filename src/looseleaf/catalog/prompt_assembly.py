"""Assembly of prompts: the request, its pages, a host's limit, and the notice to plugins."""

from __future__ import annotations

from looseleaf.access.principals import find_requirement
from looseleaf.agents.config import NO_BUDGET, Budget, merge_config
from looseleaf.catalog.resolution import resolve_agent, shelf_of
from looseleaf.errors import Invalid
from looseleaf.memory.scope import DEFAULT_WHERE, Shelf, Where
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.prompt.assembly import Assembly
    from looseleaf.prompt.formats import HostLimit
    from looseleaf.prompt.request import Request

    class WorkflowFields(Protocol):
        """The function that this part is."""

        def __call__(
            self, context: Context, where: Where, workflow: Workflow, *, with_tools: bool
        ) -> tuple[Where, dict[str, Any]]: ...


# The part of a workspace that finds the memory and tools which a pipeline or flow selects.
WORKFLOW_FIELDS = "workflow fields"


@value
class Workflow:
    """The pipeline, flow and step whose prompt is meant; without any, a prompt of no workflow."""

    pipeline: str | int | None = None
    flow: str | int | None = None
    step: str = ""

    @property
    def is_named(self) -> bool:
        """Whether a pipeline or flow is named; the name "" means none."""
        return self.pipeline not in (None, "") or self.flow is not None


NO_WORKFLOW = Workflow()


def select_workflow(
    context: Context, where: Where, workflow: Workflow, *, with_tools: bool = False
) -> tuple[Where, dict[str, Any]]:
    """Find a workflow; return its agent, and the fields that it adds to a request.

    Only the explanation of a prompt needs the fields that narrow tools (`with_tools`).
    """
    if not workflow.is_named:
        return where, {}
    build_fields: WorkflowFields = context.parts.part(WORKFLOW_FIELDS)
    return build_fields(context, where, workflow, with_tools=with_tools)


def build_request(
    context: Context,
    mode: str,
    *,
    where: Where = DEFAULT_WHERE,
    budget: Budget | None = None,
    config: Mapping[str, Any] | None = None,
    **fields: Any,  # noqa: ANN401 - the other fields of a request
) -> Request:
    """Build the request for a prompt: agent, user, mode and budget; no prompt is assembled.

    With `config`, as if these keys of the agent's configuration were set.
    """
    from looseleaf.prompt.request import Request

    agent = resolve_agent(context, where)
    if config is not None:
        agent = replace(agent, config=merge_config(agent.slug, agent.config, config))
    user = resolve_user(context, where, agent)
    if is_denied_person(context, agent, user):
        names = (file.filename for file in context.pages.registry.by_layer("principal"))
        fields["deny"] = (*fields.get("deny", ()), *names)
    limit = choose_budget(context, agent) if budget is None else budget
    return Request(agent=agent, mode=mode, user=user, budget=limit, **fields)


def compose(
    context: Context,
    mode: str,
    *,
    as_of: str = "",
    host: str = "",
    max_characters: int = 0,
    **fields: Any,  # noqa: ANN401 - as in `assemble`
) -> Assembly:
    """Assemble a prompt for a model, and notify the plugins, unless it is of the past."""
    assembly = assemble(context, mode, as_of=as_of, **fields)
    prompt = fit_to(context, assembly, host, max_characters)
    if not as_of:
        context.parts.chain().announce(prompt)
    return prompt


def assemble(
    context: Context,
    mode: str,
    *,
    where: Where = DEFAULT_WHERE,
    as_of: str = "",
    budget: Budget | None = None,
    **fields: Any,  # noqa: ANN401 - the other fields of a request
) -> Assembly:
    """Assemble the prompt of an agent in a mode, from its pages now or at a time."""
    request = build_request(context, mode, where=where, budget=budget, **fields)
    if not as_of:
        context.parts.generated().check(request.agent)
        return context.parts.chain().preview(request)
    from looseleaf.memory.history import PastPages, parse_moment

    moment = parse_moment(as_of)
    if isinstance(moment, int):
        raise Invalid(f"A prompt has no revisions: give a time such as 2026-04-17, not {as_of}.")
    from looseleaf.prompt.directive import PastSources

    past = PastPages(context.pages.store_for(Shelf("shared")), context.history, moment)
    return context.parts.chain().compose_past(
        request, PastSources(past), min(moment, context.clock())
    )


def resolve_user(context: Context, where: Where, agent: AgentRecord) -> int:
    """Find the user whose USER.md is meant, and require that the principal may read it."""
    user = where.user
    if user is None:
        user = agent.owner if where.agent is not None else context.settings.default_user
    if context.principal.is_local:
        return user
    return shelf_of(context, Where(agent.id, where.user), "user").user_id


def is_denied_person(context: Context, agent: AgentRecord, user: int) -> bool:
    """Return whether the principal may not know what the agent knows about a user."""
    principal = context.principal
    if principal.is_local or principal.user_id == user:
        return False
    shelf = Shelf("principal", user, agent.id)
    return find_requirement(principal, "read", shelf, owner=agent.owner) is not None


def choose_budget(context: Context, agent: AgentRecord) -> Budget:
    """Return the budget of an agent's configuration, or that of the settings."""
    budget = agent.configuration.prompt_budget if agent.config else None
    if budget is not None:
        return budget
    page, total = context.settings.prompt_page_bytes, context.settings.prompt_total_bytes
    return Budget(page, total) if page or total else NO_BUDGET


def fit_to(context: Context, assembly: Assembly, host: str, max_characters: int) -> Assembly:
    """Return a prompt as a host takes it; the same if no host is named."""
    if not host:
        return assembly
    from looseleaf.prompt.formats import fit_to_host

    limit = build_host_limit(context, assembly.request.agent, host, max_characters)
    return fit_to_host(assembly, limit)


def build_host_limit(
    context: Context, agent: AgentRecord, host: str, characters: int = 0
) -> HostLimit:
    """Return a host's limit, and the command by which its model reads what did not fit."""
    import shlex

    from looseleaf.prompt.formats import LIMITS, HostLimit

    command = "looseleaf memory read"
    if context.principal.is_local:
        command = f"looseleaf --root {shlex.quote(context.settings.root)} memory read"
    usual = LIMITS.get(host, context.settings.hook_characters)
    return HostLimit(host, characters or usual, command, agent.slug)
