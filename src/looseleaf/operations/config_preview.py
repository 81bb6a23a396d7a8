"""The preview of a configuration: what its policies would take out of an agent's prompt."""

from __future__ import annotations

from looseleaf.agents.config import AgentConfig
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.prompt_assembly import assemble
from looseleaf.catalog.resolution import agent_of
from looseleaf.catalog.tools.model_tools import list_model_tools
from looseleaf.catalog.tools.names import check_tool_names
from looseleaf.memory.scope import Where
from looseleaf.prompt.compare import compare_prompts
from looseleaf.prompt.reports import PromptComparison
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from looseleaf.catalog.context import Context
    from looseleaf.prompt.assembly import Assembly


@value
class ToolDifference:
    """One tool of a conversation, now and with the configuration that is tried."""

    name: str
    kind: Literal["same", "added", "removed"]


@value
class ConfigPreview:
    """What a configuration would change; `prompt` compares the present prompt with the new one."""

    agent: str
    mode: str
    prompt: PromptComparison
    tools: tuple[ToolDifference, ...]


@operation(
    "looseleaf/preview-agent-config", permission="agents", categories=("agents",), read_only=True
)
def preview_config(
    context: Context, agent: str | int, config: Mapping[str, Any], *, mode: str = "chat"
) -> ConfigPreview:
    """Show what keys of a configuration would add to and take out of a prompt; nothing is set.

    Arguments:
        agent: The agent to try the configuration on, by id or slug.
        config: The keys to try, as `configure` takes them: each with its whole new value, and null
            for a key that is taken out.
        mode: The kind of request that the prompt is for: chat, pipeline, system or a mode of your
            own.
    """
    record = agent_of(context, agent)
    new_config = AgentConfig(record.slug, config)
    if new_config.has_tool_policy:
        check_tool_names(context.parts.operations(), new_config.tool_policy)
    read_context = context.with_permission("read")
    before = assemble(read_context, mode, where=Where(record.id))
    after = assemble(read_context, mode, where=Where(record.id), config=config)
    after.request.agent.configuration.check()
    comparison = compare_prompts(before, after, context.parts.chain().tokenizer)
    tools = _compare_tools(read_context, before, after)
    return ConfigPreview(record.slug, mode, comparison, tools)


def _compare_tools(
    context: Context, before: Assembly, after: Assembly
) -> tuple[ToolDifference, ...]:
    old = [tool.name for tool in list_model_tools(context, before.request)]
    new = [tool.name for tool in list_model_tools(context, after.request)]
    tools = [ToolDifference(name, "same" if name in new else "removed") for name in old]
    return (*tools, *(ToolDifference(name, "added") for name in new if name not in old))
