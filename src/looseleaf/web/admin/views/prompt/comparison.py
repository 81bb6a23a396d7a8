"""Two prompts side by side: two modes, agents or times, and where a provider's cache breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looseleaf.errors import LooseleafError
from looseleaf.errors.agents import AgentMissing
from looseleaf.memory.text.word_diff import diff_words
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.times import DAY_SECONDS, format_date
from looseleaf.values import replace, value
from looseleaf.web.admin.prompt_rules import INJECTED, NAMES, ORDINARY, describe_rule
from looseleaf.web.admin.views.prompt.blocks import (
    MODES,
    PIPELINE,
    choose_mode,
    list_workflows,
    parse_workflow,
)

if TYPE_CHECKING:
    from looseleaf.memory.text.word_diff import WordDiff
    from looseleaf.plugins.admin_pages import Visit
    from looseleaf.prompt.documents import PromptDocument
    from looseleaf.prompt.reports import CandidateDifference, PromptComparison

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
