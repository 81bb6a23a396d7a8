"""What the agent sees: its prompt block by block, its tools, and two prompts compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from looseleaf.errors import LooseleafError
from looseleaf.errors.pages import AgentMissing
from looseleaf.memory.differences import diff_words
from looseleaf.memory.hidden_characters import describe_hidden
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.times import DAY_SECONDS, format_date
from looseleaf.values import replace, value
from looseleaf.web.admin.views.pages import LAYER_NAMES, build_page_link
from looseleaf.web.admin.wording import (
    INJECTED,
    NAMES,
    ORDINARY,
    describe_rule,
    describe_source,
    describe_tool_rule,
    name_candidate,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from looseleaf.agents.record import AgentRecord
    from looseleaf.memory.differences import WordDiff
    from looseleaf.plugins.admin_pages import Visit
    from looseleaf.prompt.assembly import PromptDocument, PromptMessage
    from looseleaf.prompt.reports import (
        Candidate,
        CandidateDifference,
        Explanation,
        PromptComparison,
    )


PIPELINE = "pipeline"
MODES = ("chat", PIPELINE, "system")
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
    pipelines = visit.run("looseleaf/list-pipelines", agent=agent)
    flows = visit.run("looseleaf/list-flows", agent=agent)
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


# Two prompts side by side: two modes, agents or times, and where a provider's cache breaks.


MOST_AGENTS = 100  # that the field offers; any other can be typed
MOST_LINES = 60  # of one block that are compared word by word on the page
KINDS = {"same": "the same", "changed": "changed", "added": "only right", "removed": "only left"}


@value
class ComparisonForm:
    """One side as the form has it."""

    agent: str
    mode: str
    as_of: str
    workflow: str = ""  # a pipeline, or a pipeline and a flow, as `list_workflows` returns them
    workflow_name: str = ""

    @property
    def title(self) -> str:
        """The side in words."""
        parts = (self.agent, self.workflow_name or self.mode, self.as_of or "now")
        return ", ".join(parts)

    def place(self) -> dict[str, Any]:
        """Return the side as arguments of an operation."""
        place = {"agent": self.agent, "mode": self.mode, "as_of": self.as_of}
        return {**place, **parse_workflow(self.workflow)}

    def other_place(self) -> dict[str, Any]:
        """Return the side as the other one of a comparison; "" says that it has no workflow."""
        place = self.place()
        return place if self.workflow else {**place, "pipeline": ""}


@value
class ComparisonRow:
    """One candidate on both sides, with the words that differ."""

    name: str
    kind: str
    sizes: tuple[int, int]
    reasons: tuple[str, str]
    diff: WordDiff | None


def compare_prompts(visit: Visit) -> Document | Redirect:
    """Compare two prompts; without a choice, now and yesterday."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    first, second = _read_sides(visit, agent.slug)
    agents = visit.run("looseleaf/list-agents")[:MOST_AGENTS]
    workflows = _list_workflows(visit, first, second)
    first, second = (
        replace(side, workflow_name=workflows.get(side.workflow, "")) for side in (first, second)
    )
    data: dict[str, object] = {
        "agent": agent,
        "left": first,
        "right": second,
        "modes": MODES,
        "agents": [record.slug for record in agents],
        "workflows": list(workflows.items()),
        "refusal": "",
        "most_lines": MOST_LINES,
    }
    try:
        data |= _compare(visit, first, second)
    except LooseleafError as error:
        data["refusal"] = str(error)
    return Document("prompt/comparison.html", "Compare prompts", data)


def _read_sides(visit: Visit, agent: str) -> tuple[ComparisonForm, ComparisonForm]:
    query = visit.query
    mode = choose_mode(query.get("mode", ""))
    yesterday = format_date(visit.context.clock() - DAY_SECONDS)
    other_fields = {"other_mode", "other_agent", "other_as_of", "other_workflow"}
    is_fresh = not {"as_of", *other_fields} & set(query)
    workflow = query.get("workflow", "").strip()
    other_workflow = workflow if is_fresh else query.get("other_workflow", "").strip()
    first = ComparisonForm(
        query.get("agent", "").strip() or agent,
        PIPELINE if workflow else mode,
        yesterday if is_fresh else query.get("as_of", "").strip(),
        workflow,
    )
    other_mode = query.get("other_mode", "").strip() or mode
    second = ComparisonForm(
        query.get("other_agent", "").strip() or first.agent,
        PIPELINE if other_workflow else other_mode,
        query.get("other_as_of", "").strip(),
        other_workflow,
    )
    return first, second


def _list_workflows(visit: Visit, first: ComparisonForm, second: ComparisonForm) -> dict[str, str]:
    """List the workflows of the agents on both sides, by their value in the form."""
    choices: dict[str, str] = {}
    for slug in dict.fromkeys((first.agent, second.agent)):
        try:
            choices |= dict(list_workflows(visit, slug))
        except AgentMissing:
            continue  # the comparison says so
    return choices


def _compare(visit: Visit, first: ComparisonForm, second: ComparisonForm) -> dict[str, object]:
    comparison: PromptComparison = visit.run(
        "looseleaf/diff-prompts", **first.place(), other=second.other_place()
    )
    texts = tuple(_read_texts(visit, side) for side in (first, second))
    rows = [_build_row(side, texts) for side in comparison.differences if _is_worth_a_row(side)]
    largest = max(*comparison.bytes, 1)
    return {
        "comparison": comparison,
        "rows": rows,
        "widths": tuple(round(100 * size / largest, 2) for size in comparison.bytes),
        "common_width": round(100 * comparison.common.bytes / largest, 2),
        "percent": round(100 * comparison.common.bytes / max(1, comparison.bytes[1])),
        "where": NAMES.get(_find_directive(comparison), comparison.name),
    }


def _read_texts(visit: Visit, side: ComparisonForm) -> dict[tuple[str, str], str]:
    document: PromptDocument = visit.run("looseleaf/compose-prompt", **side.place())
    return {
        (message["directive"], message["name"]): message["content"]
        for message in document["messages"]
    }


def _is_worth_a_row(difference: CandidateDifference) -> bool:
    return any(difference.bytes) or (
        difference.rule[0] != difference.rule[1] and not ORDINARY.issuperset(difference.rule)
    )


def _build_row(
    difference: CandidateDifference, texts: tuple[dict[tuple[str, str], str], ...]
) -> ComparisonRow:
    key = (difference.directive, difference.name)
    diff = None
    if difference.kind == "changed" and key in texts[0] and key in texts[1]:
        diff = diff_words(texts[0][key], texts[1][key], context=1)
    name = difference.name if difference.layer else NAMES.get(difference.directive, difference.name)
    before, after = (_describe_reason(rule) for rule in difference.rule)
    return ComparisonRow(name, KINDS[difference.kind], difference.bytes, (before, after), diff)


def _describe_reason(rule: str) -> str:
    return "" if rule in ("", INJECTED) else describe_rule(rule)


def _find_directive(comparison: PromptComparison) -> str:
    return next(
        (
            difference.directive
            for difference in comparison.differences
            if difference.name == comparison.name
        ),
        "",
    )
