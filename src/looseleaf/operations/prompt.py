"""Prompts: composing, explaining, comparing and checking what an agent is given."""

from __future__ import annotations

from looseleaf.agents.budget import Budget, budget_of
from looseleaf.errors import Invalid
from looseleaf.memory.history import PastPages
from looseleaf.memory.scope import Shelf
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import HERE, Where, agent_meant, shelf_of
from looseleaf.operations.moment import parse_moment
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.operations.context import Context
    from looseleaf.operations.page_problems import Problem
    from looseleaf.prompt.assembly import Assembly
    from looseleaf.prompt.budget import Overrun
    from looseleaf.prompt.compare import Comparison
    from looseleaf.prompt.explain import Explanation
    from looseleaf.prompt.host_limit import HostLimit


@value
class Side:
    """One side of a comparison; what is not said is as on the other side."""

    mode: str = ""
    agent: str | int | None = None
    as_of: str = ""


@value
class Checked:
    """Whether a prompt keeps its budgets, and what does not.

    With a host, `characters` is what a hook prints for it, `truncated` names the pages that it
    gives in part and `omitted` those that it does not give.
    """

    fits: bool
    bytes: int
    tokens: int
    tokenizer: str
    overruns: tuple[Overrun, ...]
    host: str = ""
    characters: int = 0
    max_characters: int = 0
    truncated: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def assemble(
    context: Context,
    mode: str,
    *,
    where: Where = HERE,
    as_of: str = "",
    budget: Budget | None = None,
    **more: Any,  # noqa: ANN401 - the other fields of a request
) -> Assembly:
    """Put together what an agent is given in a mode, of its pages now or at a time."""
    from looseleaf.prompt.request import Request
    from looseleaf.prompt.sources import PastSources

    agent = agent_meant(context, where)
    user = _user(context, where, agent)
    chosen = _budget(context, agent.config.get("prompt_budget")) if budget is None else budget
    request = Request(agent, mode, user, budget=chosen, **more)
    if not as_of:
        if context.generated is not None:
            context.generated().check(agent)
        return context.chain().compose(request)
    moment = parse_moment(as_of)
    if isinstance(moment, int):
        raise Invalid(f"A prompt has no revisions: give a time such as 2026-04-17, not {as_of}.")
    past = PastPages(context.pages.store_for(Shelf("shared")), context.history, moment)
    return context.chain().compose_past(request, PastSources(past), min(moment, context.clock()))


def _user(context: Context, where: Where, agent: AgentRecord) -> int:
    """Find whose USER.md is meant, and make sure that the one who acts may read it."""
    user = where.user
    if user is None:
        user = agent.owner if where.agent is not None else context.settings.default_user
    if context.principal.is_local:
        return user
    return shelf_of(context, Where(agent.id, where.user), "user").user_id


def _budget(context: Context, config: Any) -> Budget:  # noqa: ANN401 - `budget_of` checks it
    if config is not None:
        return budget_of(config)
    settings = context.settings
    return Budget(settings.prompt_page_bytes, settings.prompt_total_bytes)


@operation("looseleaf/compose-prompt", permission="read", categories=("prompt",), read_only=True)
def compose_prompt(  # noqa: PLR0913 - what one may ask for; two are positional
    context: Context,
    mode: str,
    *,
    where: Where = HERE,
    as_of: str = "",
    format: str = "json",  # noqa: A002 - as everywhere on the command line
    deny: tuple[str, ...] = (),
    allow_only: tuple[str, ...] | None = None,
    host: str = "",
    max_characters: int = 0,
) -> dict[str, Any]:
    """Give an agent's prompt in a mode as messages: json, openai, anthropic, text or hook.

    With a host (claude-code, codex or any), and always for a hook, it fits that host's limit.
    """
    from looseleaf.prompt import formats

    assembly = assemble(
        context, mode, where=where, as_of=as_of, deny=tuple(deny), allow_only=_some(allow_only)
    )
    chosen = host or ("any" if format == "hook" else "")
    return formats.document(_fitted(context, assembly, chosen, max_characters), format)


@operation("looseleaf/explain-prompt", permission="read", categories=("prompt",), read_only=True)
def explain_prompt(
    context: Context,
    mode: str,
    *,
    where: Where = HERE,
    as_of: str = "",
    deny: tuple[str, ...] = (),
    allow_only: tuple[str, ...] | None = None,
    host: str = "",
    max_characters: int = 0,
) -> Explanation:
    """List every candidate of a prompt: given or left out, by which rule, and its size.

    With a host (claude-code, codex or any), of what a hook gives to that host.
    """
    from looseleaf.prompt.explain import explained

    assembly = assemble(
        context, mode, where=where, as_of=as_of, deny=tuple(deny), allow_only=_some(allow_only)
    )
    return explained(_fitted(context, assembly, host, max_characters), context.chain().tokenizer)


@operation("looseleaf/diff-prompts", permission="read", categories=("prompt",), read_only=True)
def diff_prompts(
    context: Context,
    mode: str,
    *,
    where: Where = HERE,
    as_of: str = "",
    other: Side = Side(),  # noqa: B008 - a frozen value
) -> Comparison:
    """Compare two prompts (of two times, agents or modes) and name the first byte that differs."""
    from looseleaf.prompt.compare import compared

    before = assemble(context, mode, where=where, as_of=as_of)
    agent = other.agent if other.agent is not None else where.agent
    after = assemble(context, other.mode or mode, where=Where(agent, where.user), as_of=other.as_of)
    return compared(before, after, context.chain().tokenizer)


@operation("looseleaf/check-prompt", permission="read", categories=("prompt",), read_only=True)
def check_prompt(
    context: Context,
    mode: str,
    *,
    where: Where = HERE,
    max_bytes: int = 0,
    max_tokens: int = 0,
    host: str = "",
    max_characters: int = 0,
) -> Checked:
    """Check a prompt against the budgets of its pages and of the whole, and a host's limit."""
    from looseleaf.operations.page_problems import prompt_problems
    from looseleaf.prompt.budget import over_budget
    from looseleaf.prompt.host_limit import fit_to_host

    chain = context.chain()
    # Without a budget of its own, so that what is too much is seen whole.
    assembly = assemble(context, mode, where=where, budget=Budget())
    configured = _budget(context, assembly.request.agent.config.get("prompt_budget"))
    overruns = over_budget(
        assembly,
        (configured, Budget(total=max_bytes), Budget(total=max_tokens, unit="tokens")),
        chain.tokenizer.count,
        context.pages.registry,
    )
    tokens = chain.tokenizer.count(assembly.text)
    size = len(assembly.text.encode())
    problems = prompt_problems(context, assembly)
    measured = (size, tokens, chain.tokenizer.name, tuple(overruns))
    if not host:
        fits = not overruns and not problems
        return Checked(fits, *measured, omitted=assembly.omitted, problems=problems)
    limit = host_limit(context, assembly.request.agent, host, max_characters)
    given = fit_to_host(assembly, limit)
    return Checked(
        not (overruns or problems or given.truncated or given.omitted),
        *measured,
        host,
        limit.output_size(given),
        limit.characters,
        given.truncated,
        given.omitted,
        problems,
    )


def _fitted(context: Context, assembly: Assembly, host: str, max_characters: int) -> Assembly:
    if not host:
        return assembly
    from looseleaf.prompt.host_limit import fit_to_host

    limit = host_limit(context, assembly.request.agent, host, max_characters)
    return fit_to_host(assembly, limit)


def host_limit(context: Context, agent: AgentRecord, host: str, characters: int = 0) -> HostLimit:
    """Give a host's limit, and the command by which its model reads what did not fit."""
    import shlex

    from looseleaf.prompt.host_limit import HostLimit

    command = "looseleaf memory read"
    if context.principal.is_local:
        command = f"looseleaf --root {shlex.quote(context.settings.root)} memory read"
    return HostLimit(host, characters or context.settings.hook_characters, command, agent.slug)


def _some(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)
