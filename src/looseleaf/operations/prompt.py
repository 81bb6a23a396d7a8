"""Prompts: composing, explaining, comparing and checking what an agent is given."""

from __future__ import annotations

from looseleaf.agents.config import Budget
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.prompt_assembly import (
    NO_WORKFLOW,
    Workflow,
    assemble,
    build_host_limit,
    choose_budget,
    compose,
    fit_to,
    select_workflow,
)
from looseleaf.catalog.resolution import agent_of
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.prompt.assembly import (
    AnthropicPrompt,
    HookDocument,
    OpenAIPrompt,
    PromptDocument,
    PromptText,
)
from looseleaf.prompt.reports import (
    Explanation,
    Overrun,
    PageProblem,
    PromptComparison,
    ToolCandidate,
)
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context


@value
class Side:
    """One side of a comparison; a field that is not set is as on the other side.

    Fields:
        mode: The kind of request on this side; without it, pipeline if this side names a
            workflow, else the mode of the other side.
        agent: The agent on this side, by id or slug; without it, the agent of the other side.
        as_of: The UTC time of this side, such as 2026-04-17; without it, now.
        pipeline: The pipeline on this side, by id, slug, or agent/slug, or "" for none; without
            pipeline and flow, the workflow of the other side, if the agent is the same.
        flow: The flow on this side, by id, slug, or pipeline/slug.
        step: The id of the step that asks; without it, the first AI step of the pipeline.
    """

    mode: str = ""
    agent: str | int | None = None
    as_of: str = ""
    pipeline: str | int | None = None
    flow: str | int | None = None
    step: str = ""

    @property
    def names_workflow(self) -> bool:
        """Whether this side has a workflow of its own."""
        return self.pipeline not in (None, "") or self.flow is not None


@value(kw_only=True)
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
    problems: tuple[PageProblem, ...] = ()


@operation("looseleaf/compose-prompt", permission="read", categories=("prompt",), read_only=True)
def compose_prompt(  # noqa: PLR0913 - what one may ask for; two are positional
    context: Context,
    mode: str,
    *,
    where: Where = DEFAULT_WHERE,
    as_of: str = "",
    format: str = "json",  # noqa: A002 - as everywhere on the command line
    deny: tuple[str, ...] = (),
    allow_only: tuple[str, ...] | None = None,
    host: str = "",
    max_characters: int = 0,
    pipeline: str | int | None = None,
    flow: str | int | None = None,
    step: str = "",
) -> PromptDocument | OpenAIPrompt | AnthropicPrompt | PromptText | HookDocument:
    """Return an agent's prompt in a mode as messages: json, openai, anthropic, text or hook.

    With a host (such as codex, or any), and always for a hook, it fits that host's limit.

    Arguments:
        mode: The kind of request that the prompt is for: chat, pipeline, system or a mode of your
            own.
        as_of: A UTC time such as 2026-04-17 or 2026-04-17T09:30:00Z, to compose the prompt of that
            time; without it, of now.
        format: The form of the answer: json (messages with their sources), openai, anthropic, text
            or hook.
        deny: Names of pages that stay out of this prompt.
        allow_only: Names of the only pages that may stand in this prompt; without it, all that the
            agent's policy allows.
        host: The coding agent that reads the prompt from a hook (claude-code, codex, gemini,
            opencode or any), whose limit of characters is kept; without it, no limit.
        max_characters: The most characters that the host takes; 0 is the number in the settings.
        pipeline: The pipeline whose task, memory files and context files a prompt in the mode
            pipeline has, by id, slug, or agent/slug; without it, the pipeline of the flow.
        flow: The flow whose memory files the prompt has, by id, slug, or pipeline/slug.
        step: The id of the step that asks; without it, the first AI step of the pipeline.
    """
    from looseleaf.prompt import formats

    place, fields = select_workflow(context, where, Workflow(pipeline, flow, step))
    prompt = compose(
        context,
        mode,
        where=place,
        **fields,
        as_of=as_of,
        deny=tuple(deny),
        allow_only=_to_tuple(allow_only),
        host=host or ("any" if format == "hook" else ""),
        max_characters=max_characters,
    )
    return formats.build_document(prompt, format)


@operation("looseleaf/explain-prompt", permission="read", categories=("prompt",), read_only=True)
def explain_prompt(  # noqa: PLR0913 - the same
    context: Context,
    mode: str,
    *,
    where: Where = DEFAULT_WHERE,
    as_of: str = "",
    deny: tuple[str, ...] = (),
    allow_only: tuple[str, ...] | None = None,
    host: str = "",
    max_characters: int = 0,
    pipeline: str | int | None = None,
    flow: str | int | None = None,
    step: str = "",
) -> Explanation:
    """List every candidate of a prompt: given or left out, by which rule, and its size.

    With a host (such as codex, or any), of what a hook gives to that host.

    Arguments:
        mode: The kind of request that the prompt is for: chat, pipeline, system or a mode of your
            own.
        as_of: A UTC time such as 2026-04-17 or 2026-04-17T09:30:00Z, to compose the prompt of that
            time; without it, of now.
        deny: Names of pages that stay out of this prompt.
        allow_only: Names of the only pages that may stand in this prompt; without it, all that the
            agent's policy allows.
        host: The coding agent that reads the prompt from a hook (claude-code, codex, gemini,
            opencode or any), whose limit of characters is kept; without it, no limit.
        max_characters: The most characters that the host takes; 0 is the number in the settings.
        pipeline: The pipeline whose task, memory files and context files a prompt in the mode
            pipeline has, by id, slug, or agent/slug; without it, the pipeline of the flow.
        flow: The flow whose memory files the prompt has, by id, slug, or pipeline/slug.
        step: The id of the step that asks; without it, the first AI step of the pipeline.
    """
    from looseleaf.catalog.model_tools import choose_request_tools
    from looseleaf.prompt.reports import explain_prompt

    workflow = Workflow(pipeline, flow, step)
    place, fields = select_workflow(context, where, workflow, with_tools=True)
    assembly = assemble(
        context,
        mode,
        where=place,
        **fields,
        as_of=as_of,
        deny=tuple(deny),
        allow_only=_to_tuple(allow_only),
    )
    explanation = explain_prompt(
        fit_to(context, assembly, host, max_characters), context.parts.chain().tokenizer
    )
    choices = choose_request_tools(context, assembly.request)
    tools = [ToolCandidate(choice.name, choice.rule, choice.actions) for choice in choices]
    return replace(explanation, tools=tuple(tools))


@operation("looseleaf/diff-prompts", permission="read", categories=("prompt",), read_only=True)
def diff_prompts(
    context: Context,
    mode: str,
    *,
    where: Where = DEFAULT_WHERE,
    as_of: str = "",
    pipeline: str | int | None = None,
    flow: str | int | None = None,
    step: str = "",
    other: Side = Side(),  # noqa: B008 - a frozen value
) -> PromptComparison:
    """Compare two prompts (of two times, agents, modes or workflows) and name the first difference.

    Arguments:
        mode: The kind of request on the first side: chat, pipeline, system or a mode of your own.
        as_of: The UTC time of the first side, such as 2026-04-17; without it, now.
        pipeline: The pipeline on the first side, by id, slug, or agent/slug; without it, the
            pipeline of the flow.
        flow: The flow on the first side, by id, slug, or pipeline/slug.
        step: The id of the step that asks on the first side; without it, the first AI step.
        other: The second side: only what differs from the first side is named in it.
    """
    from looseleaf.prompt.reports import compare_prompts

    workflow = Workflow(pipeline, flow, step)
    place, fields = select_workflow(context, where, workflow)
    before = assemble(context, mode, where=place, as_of=as_of, **fields)
    other_workflow = _choose_other_workflow(context, other, workflow, before.request.agent.id)
    other_place = Where(other.agent if other.agent is not None else where.agent, where.user)
    if other.agent is None and not other_workflow.is_named:
        other_place = replace(other_place, agent=before.request.agent.id)
    other_place, fields = select_workflow(context, other_place, other_workflow)
    other_mode = other.mode or ("pipeline" if other.names_workflow else mode)
    after = assemble(context, other_mode, where=other_place, as_of=other.as_of, **fields)
    return compare_prompts(before, after, context.parts.chain().tokenizer)


def _choose_other_workflow(
    context: Context, other: Side, workflow: Workflow, agent_id: int
) -> Workflow:
    """Find the workflow of the second side: its own, or that of the first for the same agent."""
    if other.names_workflow or other.pipeline == "":
        return Workflow(other.pipeline, other.flow, other.step)
    if other.agent is not None and agent_of(context, other.agent).id != agent_id:
        return NO_WORKFLOW
    return replace(workflow, step=other.step or workflow.step)


@operation("looseleaf/check-prompt", permission="read", categories=("prompt",), read_only=True)
def check_prompt(  # noqa: PLR0913 - the same
    context: Context,
    mode: str,
    *,
    where: Where = DEFAULT_WHERE,
    max_bytes: int = 0,
    max_tokens: int = 0,
    host: str = "",
    max_characters: int = 0,
    pipeline: str | int | None = None,
    flow: str | int | None = None,
    step: str = "",
) -> Checked:
    """Check a prompt against the budgets of its pages and of the whole, and a host's limit.

    Arguments:
        mode: The kind of request that the prompt is for: chat, pipeline, system or a mode of your
            own.
        max_bytes: The most bytes that the whole prompt may have; 0 checks only the configured
            budgets.
        max_tokens: The most tokens that the whole prompt may have; 0 checks only the configured
            budgets.
        host: The coding agent that reads the prompt from a hook (claude-code, codex, gemini,
            opencode or any), whose limit of characters is kept; without it, no limit.
        max_characters: The most characters that the host takes; 0 is the number in the settings.
        pipeline: The pipeline whose task, memory files and context files a prompt in the mode
            pipeline has, by id, slug, or agent/slug; without it, the pipeline of the flow.
        flow: The flow whose memory files the prompt has, by id, slug, or pipeline/slug.
        step: The id of the step that asks; without it, the first AI step of the pipeline.
    """
    from looseleaf.catalog.page_checks import find_prompt_problems
    from looseleaf.prompt.chain import find_overruns
    from looseleaf.prompt.formats import fit_to_host

    chain = context.parts.chain()
    # Without a budget, so that everything that exceeds the configured ones is counted.
    place, fields = select_workflow(context, where, Workflow(pipeline, flow, step))
    assembly = assemble(context, mode, where=place, **fields, budget=Budget())
    configured_limit = choose_budget(context, assembly.request.agent)
    overruns = find_overruns(
        assembly,
        (configured_limit, Budget(total=max_bytes), Budget(total=max_tokens, unit="tokens")),
        chain.tokenizer.count,
        context.pages.registry,
    )
    problems = find_prompt_problems(context.pages, assembly)
    checked = Checked(
        fits=not overruns and not problems,
        bytes=len(assembly.text.encode()),
        tokens=chain.tokenizer.count(assembly.text),
        tokenizer=chain.tokenizer.name,
        overruns=tuple(overruns),
        omitted=assembly.omitted,
        problems=problems,
    )
    if not host:
        return checked
    limit = build_host_limit(context, assembly.request.agent, host, max_characters)
    excerpt = fit_to_host(assembly, limit)
    return replace(
        checked,
        fits=checked.fits and not excerpt.truncated and not excerpt.omitted,
        host=host,
        characters=limit.output_size(excerpt),
        max_characters=limit.characters,
        truncated=excerpt.truncated,
        omitted=excerpt.omitted,
    )


def _to_tuple(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)
