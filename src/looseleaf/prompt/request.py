"""The request for a prompt: its agent, mode, tools and workflow."""

from __future__ import annotations

import json

from looseleaf.agents.config import NO_BUDGET, Budget
from looseleaf.memory.registry import check_mode, check_word
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord


@value
class Tool:
    """A tool a model may call; `parameters` is its JSON schema."""

    name: str
    description: str = ""
    parameters: str = "{}"  # as text, so that it cannot be changed
    categories: tuple[str, ...] = ()

    @staticmethod
    def normal(
        name: str,
        description: str,
        parameters: str | Mapping[str, Any],
        categories: tuple[str, ...],
    ) -> tuple[str, str, str, tuple[str, ...]]:
        """Accept the schema as a table or as text."""
        check_word(name.lower().replace("/", "-"), "tool's name")
        text = parameters if isinstance(parameters, str) else json.dumps(parameters)
        return name, description, text, tuple(categories)

    @property
    def schema(self) -> Any:  # noqa: ANN401 - any JSON
        """The JSON schema of its parameters."""
        return json.loads(self.parameters)


@value
class ContextFile:
    """Reference material of a pipeline: its text, or None if it is no text."""

    name: str
    path: str
    media_type: str = "text/plain"
    text: str | None = None
    bytes: int = 0


@value(kw_only=True)
class PipelinePart:
    """The facts about a pipeline for a prompt; `step` is the asking step's place in `steps`."""

    id: int
    name: str = ""
    system_prompt: str = ""
    memory_files: tuple[str, ...] = ()
    context_files: tuple[ContextFile, ...] = ()
    steps: tuple[str, ...] = ()
    step: int | None = None


@value
class FlowPart:
    """The facts about a flow for a prompt."""

    id: int
    name: str = ""
    memory_files: tuple[str, ...] = ()


@value(kw_only=True)
class Request:
    """The request for one prompt.

    `deny` and `allow_only` narrow the pages for this call on top of the agent's policy, and
    `tool_deny` and `tool_allow_only` its tools; None narrows nothing, [] allows nothing.
    """

    agent: AgentRecord
    mode: str
    user: int
    deny: tuple[str, ...] = ()
    allow_only: tuple[str, ...] | None = None
    tools: tuple[Tool, ...] = ()
    tool_deny: tuple[str, ...] = ()
    tool_allow_only: tuple[str, ...] | None = None
    pipeline: PipelinePart | None = None
    flow: FlowPart | None = None
    budget: Budget = NO_BUDGET
    provider: str = ""

    @staticmethod
    def normal(agent: AgentRecord, mode: str, **rest: object) -> tuple[object, ...]:
        """Refuse a request without a mode."""
        return agent, check_mode(mode), *rest.values()
