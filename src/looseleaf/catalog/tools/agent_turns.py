"""What a turn of an agent needs in a conversation and in a job: context, model, limit, calls."""

from __future__ import annotations

import json

from looseleaf.catalog.tools.model_tools import run_tool
from looseleaf.chat.session import WrittenPage
from looseleaf.chat.turn import Result
from looseleaf.errors.models import ModelMissing
from looseleaf.memory.provenance import SESSION, Activity
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.chat.session import Session
    from looseleaf.models.model import Model, ToolCall
    from looseleaf.prompt.request import Request

_MOST_STEPS = 50


def as_agent(context: Context, session: Session, agent: AgentRecord) -> Context:
    """Return a context in which an agent acts by itself during a session.

    Neither the reason nor the origin that a person states for a message is that of the agent.
    """
    return replace(
        context,
        actor=agent.slug,
        surface="chat",
        reason="",
        origin="",
        activity=Activity(SESSION, session.id),
    )


def run_call(context: Context, request: Request, call: ToolCall) -> Result:
    """Run a tool as the agent itself, and name the revisions that it wrote."""
    envelope = run_tool(context, request, call.name, call.arguments)
    text = json.dumps(envelope, ensure_ascii=False)
    data = envelope.get("data", {})
    if not envelope["success"] or "revision" not in data or not data.get("changed", True):
        return Result(text, failed=not envelope["success"])
    file = data.get("filename") or data.get("file") or ""
    return Result(text, written=(WrittenPage(file, data["revision"], call.name, call.id),))


def model_of(context: Context, agent: AgentRecord, mode: str, model_name: str = "") -> Model:
    """Open the model that answers for an agent in a mode, or raise `ModelMissing`."""
    if model_name:
        context.with_permission("settings").allow()
    name = model_name or context.parts.model_for(agent.id, mode)
    if not name:
        raise ModelMissing(agent.slug, mode)
    return context.parts.models().open(name)


def choose_step_limit(context: Context, agent: AgentRecord) -> int:
    """Return how often a model may be asked for one answer."""
    limit = agent.configuration.chat.turn_limit or context.settings.chat_turn_limit
    return max(1, min(limit, _MOST_STEPS))
