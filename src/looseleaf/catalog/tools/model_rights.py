"""The rights of a model that speaks for an agent: those of a person, confined to the agent."""

from __future__ import annotations

from looseleaf.access.principals import (
    act_through,
    confine,
    find_policy_capability,
    find_requirement,
)
from looseleaf.catalog.schemas.arguments import list_argument_names
from looseleaf.memory.scope import Shelf
from looseleaf.values import FrozenDict, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.access.principals import Principal
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.prompt.request import Request
    from looseleaf.settings import Settings

SYSTEM = "system"  # the mode of our own tasks
UNATTENDED = ("pipeline", SYSTEM)  # modes in which nobody reads what an agent does
_NO_CAPABILITIES: frozenset[str] = frozenset()
_OF_EVERYONE = ("read", "history")  # on pages that all agents share


def confine_to_agent(
    context: Context,
    request: Request,
    capabilities: frozenset[str] = _NO_CAPABILITIES,
    *,
    person: Principal | None = None,
) -> Context:
    """Return a context in which the agent of a request acts on itself alone, at most as operator.

    `capabilities` are those that its tool policy names. Where nobody is present, the agent has the
    rights of the request's user; otherwise those of the person who is present. `person` has these
    rights, if they have just been looked up.
    """
    principal = ModelRights(context, request, person).principal(capabilities)
    return replace(context, principal=principal, settings=choose_settings(context))


def choose_settings(context: Context) -> Settings:
    """Return the settings under which an agent acts, with those that were made while running."""
    return context.parts.effective_settings() if context.principal.is_local else context.settings


class ModelRights:
    """The rights of the model in one request, looked up once for all tools."""

    def __init__(self, context: Context, request: Request, person: Principal | None = None) -> None:
        self._agent, self._user_id = request.agent, request.user
        self._person = person or _find_person(context, request)
        self._is_attended = not context.principal.is_agent and request.mode not in UNATTENDED
        self._calls: dict[frozenset[str], CallRights] = {}

    def principal(self, capabilities: frozenset[str] = _NO_CAPABILITIES) -> Principal:
        """Return the principal of the model, with capabilities that a tool policy names."""
        return self._call_rights(capabilities).principal

    def _call_rights(self, capabilities: frozenset[str]) -> CallRights:
        if capabilities not in self._calls:
            role = self._person.role_on(self._agent.id, self._agent.owner)
            principal = replace(
                confine(self._person, capabilities),
                grants=FrozenDict({self._agent.id: role} if role else {}),
                is_attended=self._is_attended,
            )
            self._calls[capabilities] = CallRights(principal, self._agent, self._user_id)
        return self._calls[capabilities]

    def allow(
        self, operation: Operation, fixed_arguments: Mapping[str, str], *, is_in_policy: bool
    ) -> bool:
        """Return whether any call of an operation is allowed."""
        capabilities = list_policy_capabilities(operation) if is_in_policy else _NO_CAPABILITIES
        return self._call_rights(capabilities).allow(operation, fixed_arguments)


class CallRights:
    """The operations that a principal may call for an agent and a user at all.

    A tool that takes a page may be allowed on the user's pages and not on the agent's. The
    operation itself decides about each call. Many tools need the same permission, which is looked
    up once; so this is made anew for each list of tools.
    """

    def __init__(self, principal: Principal, agent: AgentRecord, user_id: int) -> None:
        self.principal = principal
        self._agent, self._user_id = agent, user_id
        self._decisions: dict[tuple[str, bool], bool] = {}

    def allow(self, operation: Operation, fixed_arguments: Mapping[str, str]) -> bool:
        """Return whether any call of an operation is allowed."""
        is_append = operation.permission == "write" and fixed_arguments.get("mode") == "append"
        permission = "append" if is_append else operation.permission
        takes_page = "memory" in operation.categories and "file" in list_argument_names(operation)
        key = permission, permission in _OF_EVERYONE or takes_page
        if key not in self._decisions:
            self._decisions[key] = self._decide(*key)
        return self._decisions[key]

    def _decide(self, permission: str, is_for_pages: bool) -> bool:  # noqa: FBT001 - a key
        agent = self._agent
        if find_requirement(self.principal, permission, agent.shelf, owner=agent.owner) is None:
            return True
        places = (Shelf("user", self._user_id), None) if is_for_pages else ()
        return any(find_requirement(self.principal, permission, place) is None for place in places)


def list_policy_capabilities(operation: Operation) -> frozenset[str]:
    """Return the capabilities that an agent's own allow list gives for an operation it names."""
    return find_policy_capability(operation.permission)


def _find_person(context: Context, request: Request) -> Principal:
    """Find the person whose rights an agent has: the user of an unattended request, or the caller.

    Only the worker of jobs, and the operator who looks at a prompt, ask for a user who is absent.
    """
    agent_id, name = request.agent.id, context.actor or request.agent.slug
    if context.principal.is_local and request.mode in UNATTENDED:
        from looseleaf.access.user_principals import build_user_principal

        accounts = context.parts.accounts()
        return build_user_principal(accounts, request.user, agent_id=agent_id, name=name)
    return act_through(context.principal, agent_id, user=request.user, name=name)
