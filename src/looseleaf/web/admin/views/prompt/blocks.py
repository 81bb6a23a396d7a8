"""What the agent sees: its prompt block by block, with sizes and reasons, and its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from looseleaf.errors import LooseleafError
from looseleaf.memory.text.hidden_characters import describe_hidden
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.values import value
from looseleaf.web.admin.prompt_rules import (
    INJECTED,
    ORDINARY,
    describe_rule,
    describe_source,
    describe_tool_rule,
    name_candidate,
)
from looseleaf.web.admin.views.memory.page_header import LAYER_NAMES, build_page_link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looseleaf.agents.record import AgentRecord
    from looseleaf.plugins.admin_pages import Visit
    from looseleaf.prompt.documents import PromptMessage
    from looseleaf.prompt.reports import Candidate, Explanation

PIPELINE = "pipeline"
MODES = ("chat", PIPELINE, "system")
MOST_WORKFLOWS = 200  # pipelines and flows, each, that the field offers
MOST_CHARACTERS = 40_000  # of one block that is shown; a page has its own view


@value(kw_only=True)
class Block:
    """One message of the prompt; `start` and `share` are percents of the whole."""

    name: str
    reason: str
    detail: str
    link: str  # of its page, or "" if it has none
    bytes: int
    tokens: int
    start: float
    share: float
    text: str
    is_cut: bool
    hidden_characters: str  # which ones it has, in words
    is_stable: bool
    is_notice: bool  # it only says that a page is not here


@value
class LeftOutRow:
    """A candidate that the model is not given, and why."""

    name: str
    reason: str
    detail: str
    link: str
    size: int


def show_prompt(visit: Visit) -> Document | Redirect:
    """Show the prompt of a mode, now or at a time, block by block."""
    agent: AgentRecord = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    mode = choose_mode(visit.query.get("own_mode", "").strip() or visit.query.get("mode", ""))
    as_of = visit.query.get("as_of", "").strip()
    workflow = visit.query.get("workflow", "").strip() if mode == PIPELINE else ""
    data: dict[str, object] = {
        "agent": agent,
        "mode": mode,
        "workflow": workflow,
        "workflows": list_workflows(visit, agent.slug) if mode == PIPELINE else [],
        "modes": MODES,
        "as_of": as_of,
        "links": {mode_name: _build_link(agent.slug, mode_name, as_of) for mode_name in MODES},
        "refusal": "",
    }
    try:
        data |= _describe(visit, agent.slug, mode, as_of, parse_workflow(workflow))
    except LooseleafError as error:
        data["refusal"] = str(error)
    return Document("prompt/blocks.html", "What it sees", data)


def choose_mode(mode: str) -> str:
    """Return the mode that is asked for; without one, chat."""
    return mode.strip() or MODES[0]


def _build_link(agent: str, mode: str, as_of: str) -> str:
    query = {"mode": mode, **({"as_of": as_of} if as_of else {})}
    return f"/admin/agents/{agent}/prompt?{urlencode(query)}"


def list_workflows(visit: Visit, agent: str) -> list[tuple[str, str]]:
    """List the pipelines and flows of an agent as choices: a value for the form, and a name."""
    pipelines = visit.run("looseleaf/list-pipelines", agent=agent)[:MOST_WORKFLOWS]
    flows = visit.run("looseleaf/list-flows", agent=agent)[:MOST_WORKFLOWS]
    choices = []
    for pipeline in pipelines:
        choices.append((str(pipeline.id), pipeline.name))
        choices += [
            (f"{pipeline.id}.{flow.id}", f"{pipeline.name}: {flow.name}")
            for flow in flows
            if flow.pipeline_id == pipeline.id
        ]
    return choices


def parse_workflow(choice: str) -> dict[str, int]:
    """Return a chosen pipeline and flow as arguments of an operation, or {} if none is chosen."""
    pipeline, _, flow = choice.partition(".")
    numbers = {"pipeline": pipeline, "flow": flow}
    return {
        name: int(text) for name, text in numbers.items() if text.isdecimal() and len(text) < 16
    }


def _describe(
    visit: Visit, agent: str, mode: str, as_of: str, workflow: dict[str, int]
) -> dict[str, object]:
    place: dict[str, Any] = {"mode": mode, "agent": agent, "as_of": as_of, **workflow}
    explanation: Explanation = visit.run("looseleaf/explain-prompt", **place)
    messages = visit.run("looseleaf/compose-prompt", **place)["messages"]
    left_out = [
        candidate
        for candidate in explanation.candidates
        if candidate.rule != INJECTED and not candidate.bytes
    ]
    return {
        "explanation": explanation,
        "blocks": build_blocks(explanation, messages, agent),
        "left_out": [
            _build_left_out(candidate, agent)
            for candidate in left_out
            if candidate.rule not in ORDINARY
        ],
        "unused": [
            _build_left_out(candidate, agent)
            for candidate in left_out
            if candidate.rule in ORDINARY
        ],
        "tools": _list_tools(explanation),
    }


def build_blocks(
    explanation: Explanation, messages: Sequence[PromptMessage], agent: str
) -> list[Block]:
    """Pair each message with what is known about it, in the order of the prompt."""
    total = max(1, explanation.bytes)
    candidates = [candidate for candidate in explanation.candidates if candidate.bytes]
    blocks: list[Block] = []
    start = 0.0
    for number, (candidate, message) in enumerate(zip(candidates, messages, strict=True)):
        share = round(100 * candidate.bytes / total, 2)
        is_stable = number < explanation.stable.messages
        blocks.append(
            _build_block(candidate, message["content"], agent, (start, share), is_stable=is_stable)
        )
        start += share
    return blocks


def _build_block(
    candidate: Candidate, text: str, agent: str, place: tuple[float, float], *, is_stable: bool
) -> Block:
    is_page = candidate.kind == "page"
    is_notice = candidate.rule != INJECTED
    reason = describe_source(candidate.directive, is_page=is_page)
    if is_page and candidate.layer in LAYER_NAMES:
        reason = f"{LAYER_NAMES[candidate.layer]}: {reason}"
    return Block(
        name=name_candidate(candidate),
        reason=f"left out: {describe_rule(candidate.rule)}" if is_notice else reason,
        detail=_format_provenance(candidate),
        link=_link_candidate(candidate, agent),
        bytes=candidate.bytes,
        tokens=candidate.tokens,
        start=round(place[0], 2),
        share=place[1],
        text=text[:MOST_CHARACTERS],
        is_cut=len(text) > MOST_CHARACTERS,
        hidden_characters=describe_hidden(text),
        is_stable=is_stable,
        is_notice=is_notice,
    )


def _format_provenance(candidate: Candidate) -> str:
    change = (
        f"changed {candidate.changed}{f' by {candidate.by}' if candidate.by else ''}"
        if candidate.changed
        else ""
    )
    comments = f"{candidate.comments:,} bytes of comments stay out" if candidate.comments else ""
    return " · ".join(part for part in (candidate.detail, change, comments) if part)


def _link_candidate(candidate: Candidate, agent: str) -> str:
    return (
        build_page_link(agent, candidate.layer, candidate.name)
        if candidate.layer in LAYER_NAMES
        else ""
    )


def _build_left_out(candidate: Candidate, agent: str) -> LeftOutRow:
    reason, detail = describe_rule(candidate.rule), candidate.detail
    if candidate.rule == "off" and detail:
        reason, detail = detail, ""  # it says the same, and how to switch it on
    link = "" if candidate.rule == "missing" else _link_candidate(candidate, agent)
    return LeftOutRow(name_candidate(candidate), reason, detail, link, candidate.size)


def _list_tools(explanation: Explanation) -> list[tuple[str, str, str]]:
    """List each tool that a conversation could get: its name, its actions and why it is denied."""
    return [
        (tool.name, ", ".join(tool.actions), describe_tool_rule(tool.rule))
        for tool in explanation.tools
    ]
