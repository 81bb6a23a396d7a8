"""Which tools an agent may use: one decision and one list, which every surface asks for.

A tool is given if the agent's policy allows it and the person for whom the agent acts may use
it. Chat, MCP, the export of tools, prompts, their explanation and the abilities of the REST server
call the functions of this module and read no tool policy themselves.
"""

from __future__ import annotations

from looseleaf.access.principals import (
    act_through,
    confine,
    find_policy_capability,
    find_requirement,
)
from looseleaf.catalog.operation_tools import (
    VARIANTS,
    find_tool_refusal,
    format_tool_name,
    list_operation_tools,
    tools_of,
    writes_journal,
)
from looseleaf.catalog.resolution import find_acting_agent, find_operation
from looseleaf.catalog.schemas import build_input_schema, list_argument_names
from looseleaf.catalog.signature import ORIGIN, ORIGIN_SCHEMA
from looseleaf.errors.operations import ToolDenied
from looseleaf.errors.pages import InvalidPolicy
from looseleaf.files.folders import casefold_name
from looseleaf.memory.pages import MAIN
from looseleaf.memory.policy import decide_tool, parse_tool_policy
from looseleaf.memory.scope import Shelf
from looseleaf.values import FrozenDict, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, TypeAlias

    from looseleaf.access.principals import Principal
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation, OperationList
    from looseleaf.catalog.operation_tools import OperationTool
    from looseleaf.memory.policy import PolicyDecision, ToolPolicy
    from looseleaf.prompt.request import Request, Tool
    from looseleaf.settings import Settings

    Tools: TypeAlias = "tuple[ModelTool | OperationTool, ...]"


# The two tools with actions by which a model uses its memory in a conversation.


@value
class Action:
    """What one action of a tool does: the operation, and which arguments go to it."""

    operation: str
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    fixed_arguments: Mapping[str, str] = FrozenDict()
    defaults: Mapping[str, str] = FrozenDict()
    result: str = ""  # the name of a result that is no object


@value
class ModelTool:
    """A tool with actions, by name."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    actions: Mapping[str, Action]
    categories: tuple[str, ...] = ("memory",)

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments, with every action."""
        return self.parameters_with(self.actions)

    def parameters_with(self, actions: Iterable[str]) -> dict[str, Any]:
        """Return the JSON schema of its arguments, with some of its actions."""
        names = list(actions)
        action = {
            "type": "string",
            "enum": names,
            "description": "What to do: " + ", ".join(names) + ".",
        }
        return {
            "type": "object",
            "properties": {"action": action, **self.properties},
            "required": ["action"],
            "additionalProperties": False,
        }


def _build_text_schema(description: str, *choices: str) -> dict[str, Any]:
    enumeration = {"enum": list(choices)} if choices else {}
    return {"type": "string", **enumeration, "description": description}


_SCOPE_OF_SEEDS = {
    "type": "integer",
    "description": "Leave it out: the conversation decides whose memory it is.",
}
_PLACE = ("file", "section", "position")
# The ways out that a refusal of a change names.
_CONFIRMATIONS = ("if_match", "allow_shrink")
_CONFIRMATION_SCHEMAS = {
    "if_match": _build_text_schema("The hash of the page as it was read, to change no other."),
    "allow_shrink": {
        "type": "boolean",
        "description": "For a change that was refused because the page loses most of its text.",
    },
}
_UPDATE = "datamachine/update-agent-memory"

AGENT_MEMORY = ModelTool(
    "agent_memory",
    "Your lasting memory: facts, decisions and lessons that every later conversation needs. It is "
    "kept in the sections of MEMORY.md and other pages. Read a section before you change it. What "
    "merely happened belongs in agent_daily_memory. Whatever you are asked about the past, look it "
    "up first: find takes a question and gives the pages that answer it, days of the journal too.",
    {
        "file": _build_text_schema(f"The page; {MAIN} if you name none."),
        "section": _build_text_schema(
            "The section, by the text of its ## header; without it, get reads all."
        ),
        "position": {
            "type": "integer",
            "description": "The section's position, where several have the same name.",
        },
        "content": _build_text_schema("Markdown, for update and append."),
        "mode": _build_text_schema(
            "For update: set replaces the section, append adds to it.", "set", "append"
        ),
        "words": _build_text_schema(
            "A question, or some words that the page should be about, for find."
        ),
        "query": _build_text_schema("The exact text to find in a line, for search."),
        **_CONFIRMATION_SCHEMAS,
        ORIGIN: ORIGIN_SCHEMA,
        "user_id": _SCOPE_OF_SEEDS,
        "agent_id": _SCOPE_OF_SEEDS,
    },
    {
        "get": Action("datamachine/get-agent-memory", _PLACE),
        "update": Action(
            _UPDATE,
            (*_PLACE, "content", "mode", *_CONFIRMATIONS),
            ("section", "content"),
            defaults={"mode": "set"},
        ),
        "append": Action(_UPDATE, (*_PLACE, "content"), ("section", "content"), {"mode": "append"}),
        "delete": Action(
            "datamachine/delete-agent-memory-section", (*_PLACE, *_CONFIRMATIONS), ("section",)
        ),
        "list_sections": Action(
            "datamachine/list-agent-memory-sections", ("file",), result="sections"
        ),
        "find": Action("looseleaf/find-pages", ("words",), ("words",)),
        "search": Action(
            "datamachine/search-agent-memory", ("file", "section", "query"), ("query",)
        ),
    },
)
AGENT_DAILY_MEMORY = ModelTool(
    "agent_daily_memory",
    "Your journal, one page a day (UTC): session activity, events, work logs. It captures WHAT "
    "HAPPENED; knowledge that lasts belongs in agent_memory (MEMORY.md) instead.",
    {
        "date": _build_text_schema("A day, YYYY-MM-DD; today if you name none."),
        "content": _build_text_schema("Markdown, for write."),
        "mode": _build_text_schema(
            "For write: append (the default) adds, write replaces the day.", "append", "write"
        ),
        "query": _build_text_schema("The text to find, for search."),
        "from": _build_text_schema("The first day of a search."),
        "to": _build_text_schema("The last day of a search."),
        **_CONFIRMATION_SCHEMAS,
        ORIGIN: ORIGIN_SCHEMA,
        "user_id": _SCOPE_OF_SEEDS,
    },
    {
        "read": Action("datamachine/daily-memory-read", ("date",)),
        "write": Action(
            "datamachine/daily-memory-write",
            ("date", "content", "mode", *_CONFIRMATIONS),
            ("content",),
        ),
        "list": Action("datamachine/daily-memory-list", result="months"),
        "search": Action("datamachine/search-daily-memory", ("query", "from", "to"), ("query",)),
    },
    ("memory", "daily"),
)
MODEL_TOOLS = {tool.name: tool for tool in (AGENT_MEMORY, AGENT_DAILY_MEMORY)}


# The rights of a model that speaks for an agent: those of a person, confined to the agent.


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
        is_bound = principal.agent_id == agent.id
        self.principal = replace(principal, agent_owner=agent.owner) if is_bound else principal
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
        from looseleaf.access.accounts import build_user_principal

        accounts = context.parts.accounts()
        return build_user_principal(accounts, request.user, agent_id=agent_id, name=name)
    return act_through(context.principal, agent_id, user=request.user, name=name)


# Operations that read, or write, the same text: a policy that names one of them means all.
_EQUIVALENTS = {
    name: group
    for group in (
        ("datamachine/get-agent-memory", "datamachine/get-agent-file"),
        ("datamachine/write-agent-file", "datamachine/upload-agent-file"),
    )
    for name in group
}
# For each operation, the actions that run it: the name of their tool, and what they fix.
_ACTIONS: dict[str, list[tuple[str, Mapping[str, str]]]] = {}
for _tool in MODEL_TOOLS.values():
    for _action in _tool.actions.values():
        _ACTIONS.setdefault(_action.operation, []).append((_tool.name, _action.fixed_arguments))
GIVEN = "given"
DENIED = "policy_deny"
MODE = "mode"
RIGHTS = "rights"  # of the person for whom the agent acts
NOT_NAMED = "no allow list names it"
JOURNAL_CLOSED = "daily_memory_disabled"


@value
class ToolChoice:
    """One tool that was considered for an agent: given, or left out by a rule."""

    tool: ModelTool | OperationTool
    rule: str
    actions: tuple[str, ...] = ()  # of a tool with actions, those that the policy leaves

    @property
    def name(self) -> str:
        """The name by which a model calls it."""
        return self.tool.name

    @property
    def is_given(self) -> bool:
        """Whether the agent has it."""
        return self.rule == GIVEN


def choose_all_tools(context: Context, agent: AgentRecord | None) -> tuple[ToolChoice, ...]:
    """Decide about every tool there is; without an agent, all are given."""
    tools: Tools = (*MODEL_TOOLS.values(), *list_operation_tools(context))
    return tuple(choose_tool(context, agent, tool) for tool in tools)


def choose_listed_tools(
    context: Context, agent: AgentRecord | None, tools: Iterable[OperationTool]
) -> tuple[ToolChoice, ...]:
    """Decide about the tools of a server by their equivalents: it has no tools with actions.

    Tools that a closed journal would refuse are left out, and tools that a credential bound
    to an agent may never use.
    """
    principal, journal = context.principal, context.settings.daily_memory_enabled
    rights = CallRights(principal, agent, principal.user_id) if agent is not None else None
    return tuple(_choose_listed(agent, rights, tool, journal=journal) for tool in tools)


def _choose_listed(
    agent: AgentRecord | None, rights: CallRights | None, tool: OperationTool, *, journal: bool
) -> ToolChoice:
    choice = _choose_operation(agent, tool)
    if not choice.is_given:
        return choice
    if tool.writes_journal and not journal:
        return ToolChoice(tool, JOURNAL_CLOSED)
    is_allowed = rights is None or rights.allow(tool.operation, tool.fixed_arguments)
    return choice if is_allowed else ToolChoice(tool, RIGHTS)


def choose_chat_tools(
    context: Context, request: Request, *, journal: bool = True
) -> tuple[ToolChoice, ...]:
    """Decide about the tools of a conversation: memory, journal, and what an allow list names.

    Of these the model is offered what the person, or the user of a job, may use. The system's own
    tasks get none: they are told what to do with memory. If the journal is closed to agents
    (`journal` is false), nothing that changes it is offered.
    """
    # Without an allow list no operation is named, and a turn need not look through all of them.
    allows = request.agent.configuration.tool_policy.mode == "allow"
    candidates = list_operation_tools(context) if allows or request.tool_allow_only else ()
    allowed_tools = [tool for tool in candidates if is_named(request, tool)]
    tools: Tools = (*MODEL_TOOLS.values(), *allowed_tools)
    rights = ModelRights(context, request)
    choices = (_choose_in_request(context, rights, tool, request) for tool in tools)
    return tuple(choice if journal else _without_journal(context, choice) for choice in choices)


def _choose_in_request(
    context: Context, rights: ModelRights, tool: ModelTool | OperationTool, request: Request
) -> ToolChoice:
    """Decide about one tool by the policy of the agent, and then by the rights of the person."""
    choice = choose_tool(context, request.agent, tool, request)
    if not choice.is_given:
        return choice
    if not isinstance(tool, ModelTool):
        is_in_policy = is_in_allow_list(request.agent, tool)
        is_allowed = rights.allow(tool.operation, tool.fixed_arguments, is_in_policy=is_in_policy)
        return choice if is_allowed else ToolChoice(tool, RIGHTS)
    actions = tuple(
        name
        for name in choice.actions
        if rights.allow(
            find_operation(context, tool.actions[name].operation),
            tool.actions[name].fixed_arguments,
            is_in_policy=False,
        )
    )
    return ToolChoice(tool, GIVEN if actions else RIGHTS, actions)


def _without_journal(context: Context, choice: ToolChoice) -> ToolChoice:
    """Remove what changes the journal from a choice."""
    tool = choice.tool
    if not choice.is_given:
        return choice
    if not isinstance(tool, ModelTool):
        return ToolChoice(tool, JOURNAL_CLOSED) if tool.writes_journal else choice
    actions = tuple(
        name
        for name in choice.actions
        if not writes_journal(find_operation(context, tool.actions[name].operation))
    )
    return ToolChoice(tool, GIVEN if actions else JOURNAL_CLOSED, actions)


def choose_tool(
    context: Context,
    agent: AgentRecord | None,
    tool: ModelTool | OperationTool,
    request: Request | None = None,
) -> ToolChoice:
    """Decide by policy about one tool, if tools with actions are offered under their own names.

    The request of a conversation may narrow the tools once more.
    """
    decision = decide_agent_tool(agent, tool.name, tool.categories, request)
    if not decision.allowed:
        return ToolChoice(tool, decision.rule)
    if request is not None and request.mode == SYSTEM:
        return ToolChoice(tool, MODE)
    if not isinstance(tool, ModelTool):
        is_unasked = request is not None and not is_named(request, tool)
        return ToolChoice(tool, NOT_NAMED) if is_unasked else _choose_operation(agent, tool)
    actions = tuple(tool.actions)
    if agent is not None and agent.configuration.has_tool_policy:
        actions = tuple(
            name
            for name, action in tool.actions.items()
            if not denies_operation(agent, find_operation(context, action.operation))
        )
    return ToolChoice(tool, GIVEN if actions else DENIED, actions)


def _choose_operation(agent: AgentRecord | None, tool: OperationTool) -> ToolChoice:
    decision = decide_operation_tool(agent, tool.operation, tool.name)
    return ToolChoice(tool, GIVEN if decision.allowed else decision.rule)


def is_named(request: Request, tool: OperationTool) -> bool:
    """Return whether an allow list names an operation's tool; without a list, none is offered."""
    names = map(casefold_name, request.tool_allow_only or ())
    return casefold_name(tool.name) in names or is_in_allow_list(request.agent, tool)


def is_in_allow_list(agent: AgentRecord, tool: OperationTool) -> bool:
    """Return whether the allow list of an agent's own policy names a tool or its category."""
    policy = agent.configuration.tool_policy
    if policy.mode != "allow":
        return False
    return casefold_name(tool.name) in map(casefold_name, policy.tools) or any(
        casefold_name(category) in policy.category_keys for category in tool.categories
    )


def list_equivalent_names(operation: Operation, name: str) -> tuple[str, ...]:
    """Name the tools that do what a tool of an operation does, itself first."""
    group = _EQUIVALENTS.get(operation.name, ())
    group_names = tuple(map(format_tool_name, group))
    equivalents = group_names if name in group_names else ()
    composite = [
        tool
        for operation_name in (group if equivalents else (operation.name,))
        for tool, fixed_arguments in _ACTIONS.get(operation_name, ())
        if _is_same(fixed_arguments, operation, name)
    ]
    return tuple(dict.fromkeys((name, *equivalents, *composite)))


def _is_same(fixed_arguments: Mapping[str, str], operation: Operation, name: str) -> bool:
    """Return whether an action may do what a tool of the same operation does."""
    variants = VARIANTS.get(operation.name, ())
    tool_arguments = next((tool.fixed_arguments for tool in variants if tool.name == name), {})
    return all(tool_arguments.get(key, text) == text for key, text in fixed_arguments.items())


def decide_operation_tool(
    agent: AgentRecord | None, operation: Operation, name: str
) -> PolicyDecision:
    """Decide about one tool of an operation by an agent's policy, the same on every surface.

    A policy that denies a tool denies its equivalents; one that allows a tool allows them.
    """
    own_decision = decide_agent_tool(agent, name, operation.categories)
    if agent is None or not agent.configuration.has_tool_policy:
        return own_decision
    allows = agent.configuration.tool_policy.mode == "allow"
    if own_decision.allowed is allows:
        return own_decision
    for equivalent in list_equivalent_names(operation, name)[1:]:
        decision = decide_agent_tool(agent, equivalent, operation.categories)
        if decision.allowed is allows:
            return decision
    return own_decision


def decide_agent_tool(
    agent: AgentRecord | None,
    name: str,
    categories: tuple[str, ...],
    request: Request | None = None,
) -> PolicyDecision:
    """Decide about one tool by an agent's policy, and by what a request denies or allows."""
    policy = agent.configuration.tool_policy if agent is not None else parse_tool_policy(None)
    deny, allow_only = (request.tool_deny, request.tool_allow_only) if request else ((), None)
    return decide_tool(name, categories, policy=policy, deny=deny, allow_only=allow_only)


def decide_request_tools(request: Request) -> tuple[tuple[Tool, PolicyDecision], ...]:
    """Decide about the tools that a program brings with a request, for the prompt to list them."""
    return tuple(
        (tool, decide_agent_tool(request.agent, tool.name, tool.categories, request))
        for tool in request.tools
    )


def require_tool(context: Context, operation: Operation, name: str) -> None:
    """Raise `ToolDenied` if the policy of the agent that acts takes a tool away."""
    decision = decide_operation_tool(find_acting_agent(context), operation, name)
    if not decision.allowed:
        raise ToolDenied(name, decision.rule)


def offers_operation(context: Context, operation: Operation) -> bool:
    """Return whether the policy of the agent that acts leaves any tool of an operation."""
    return _allows_any_tool(find_acting_agent(context), operation)


def require_operation(
    context: Context, operation: Operation, operation_arguments: Mapping[str, Any]
) -> None:
    """Raise `ToolDenied` if the policy denies the tool that these arguments amount to.

    An operation may be several tools, one for each `mode`: denying the tool that replaces text
    leaves the tool that appends. An allow list says nothing about what is no tool of any model,
    such as sending a message to the agent.
    """
    agent = find_acting_agent(context)
    if agent is None or not agent.configuration.has_tool_policy:
        return
    if agent.configuration.tool_policy.mode == "allow" and find_tool_refusal(operation):
        return
    properties = build_input_schema(operation)["properties"]
    for name, fixed_arguments in _list_tools(operation):
        actual = {
            key: operation_arguments.get(key, properties[key].get("default"))
            for key in fixed_arguments
        }
        if all(actual[key] in (text, None) for key, text in fixed_arguments.items()):
            require_tool(context, operation, name)


def denies_operation(agent: AgentRecord, operation: Operation) -> bool:
    """Return whether an agent's policy denies an operation by name or category.

    A tool with several actions leaves out the denied actions. An allow list names
    tools, and a tool that it names has all of its actions.
    """
    is_deny_list = agent.configuration.tool_policy.mode == "deny"
    return is_deny_list and not _allows_any_tool(agent, operation)


def _allows_any_tool(agent: AgentRecord | None, operation: Operation) -> bool:
    names = (name for name, _ in _list_tools(operation))
    return any(decide_operation_tool(agent, operation, name).allowed for name in names)


def _list_tools(operation: Operation) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Name the tools of an operation; an operation without tools counts under its own name."""
    tools = tools_of(operation)
    for tool in tools:
        yield tool.name, tool.fixed_arguments
    if not tools:
        yield format_tool_name(operation.name), {}


# The names that a tool policy can use: every tool and every category of a workspace.
# A policy that denies a misspelled name denies nothing, so unknown names are refused when a
# policy is set. A stored policy may name the tool of a plugin that is gone; the doctor reports
# it.


_NEAREST = 3


def check_tool_names(operations: OperationList, policy: ToolPolicy) -> None:
    """Refuse a tool policy that names a tool or category that the workspace does not have."""
    for fault in find_unknown_tools(operations, policy):
        raise InvalidPolicy(fault)


def find_unknown_tools(operations: OperationList, policy: ToolPolicy) -> Iterator[str]:
    """Describe each unknown name in a tool policy, with the names that may be meant."""
    for kind, names, fold_available in (
        ("tool", policy.tools, _fold_tool_names),
        ("category", policy.categories, _fold_tool_categories),
    ):
        available_names = operations.derive(fold_available) if names else {}
        for name in names:
            if casefold_name(name) not in available_names:
                yield _describe(kind, name, available_names)


def _fold_tool_names(operations: OperationList) -> Mapping[str, str]:
    return {casefold_name(name): name for name in list_tool_names(operations)}


def _fold_tool_categories(operations: OperationList) -> Mapping[str, str]:
    return {casefold_name(name): name for name in list_tool_categories(operations)}


def list_tool_names(operations: OperationList) -> list[str]:
    """List the names of all tools, of plugins too, and of operations that are never offered."""
    names = set(MODEL_TOOLS)
    for operation in operations.all():
        names |= {tool.name for tool in tools_of(operation)} or {format_tool_name(operation.name)}
    return sorted(names)


def expand_tool_names(operations: OperationList, policy: ToolPolicy) -> tuple[str, ...]:
    """List the names of the tools that a policy lists by name or by category."""
    categories = {casefold_name(category) for category in policy.categories}
    if not categories:
        return (*policy.tools, *policy.outside_tools)
    tools = {tool.name: tool.categories for tool in MODEL_TOOLS.values()}
    for operation in operations.all():
        tools |= {tool.name: tool.categories for tool in tools_of(operation)}
    names = [
        name
        for name, tool_categories in tools.items()
        if categories & set(map(casefold_name, tool_categories))
    ]
    return (*policy.tools, *policy.outside_tools, *names)


def list_tool_categories(operations: OperationList) -> list[str]:
    """List the categories of all tools."""
    holders: Iterable[tuple[str, ...]] = (
        *(tool.categories for tool in MODEL_TOOLS.values()),
        *(operation.categories for operation in operations.all()),
    )
    return sorted({category for categories in holders for category in categories})


def _describe(kind: str, name: str, available_names: Mapping[str, str]) -> str:
    from difflib import get_close_matches

    # A policy lists tools; the name of an operation is near to that of its tool.
    nearest = get_close_matches(casefold_name(format_tool_name(name)), available_names, n=_NEAREST)
    names = ", ".join(available_names[key] for key in nearest or available_names)
    start = f"there is no {kind} {name!r}; {'nearest' if nearest else 'available'}: {names}"
    if kind == "category":
        return start
    return f"{start}. A tool that a program brings with its requests belongs in outside_tools"
