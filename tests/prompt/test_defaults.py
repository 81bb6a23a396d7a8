"""The built-in directives, each with what it gives and what it leaves out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors import Invalid
from looseleaf.prompt.outputs import Data, File, LeftOut
from looseleaf.prompt.request import ContextFile, FlowPart, PipelinePart, Tool
from tests.conftest import Clock
from tests.prompt.conftest import list_left_out, list_pages, open_parts

TODAY = "2096/10/02"  # what the tests' clock says


def put(workspace: Workspace, name: str, text: str) -> None:
    """Write a page of ada's by hand."""
    page = Path(workspace.root, "agents/ada", name)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text)


def configure(workspace: Workspace, **config: object) -> None:
    """Configure ada."""
    workspace.agents.configure("ada", config)


def test_the_order_is_that_of_the_design(workspace: Workspace) -> None:
    """Priorities are spaced so that others fit in between."""
    assert [(directive.priority, directive.name) for directive in workspace.chain().directives] == [
        (10, "core-text"),
        (20, "core-memory-files"),
        (35, "daily-memory"),
        (40, "pipeline-memory-files"),
        (45, "flow-memory-files"),
        (50, "pipeline-system-prompt"),
        (60, "pipeline-context-files"),
        (70, "tool-definitions"),
        (80, "site-context"),
    ]


def test_core_pages_come_in_the_order_of_the_registry(workspace: Workspace) -> None:
    """Shared ones first, then who the agent is, whom it works for, what it knows."""
    core = ["SITE.md", "RULES.md", "SOUL.md", "USER.md", "MEMORY.md"]
    Path(workspace.root, "shared/RULES.md").write_text("- Be kind.\n")
    Path(workspace.root, "users/1/USER.md").write_text("Eve.\n")
    assert list_pages(workspace.compose("chat", "ada")) == core


def test_missing_and_empty_pages_are_left_out_with_the_reason(workspace: Workspace) -> None:
    """Silently for the model, not for who asks; a page that was never written is missing."""
    workspace.agents.create("bob")
    assert list_left_out(workspace.compose("chat", "bob"))["MEMORY.md"] == "missing"
    put(workspace, "MEMORY.md", " \n\n")
    put(workspace, "SOUL.md", "ok")
    Path(workspace.root, "users/1/USER.md").write_bytes(b"\xff\xfe no text")
    assembly = workspace.compose("chat", "ada")
    assert "MEMORY.md" not in list_pages(assembly)
    assert "USER.md" not in list_pages(assembly)
    why = list_left_out(assembly)
    assert (why["MEMORY.md"], why["USER.md"]) == ("empty", "not_text")


def test_a_label_says_who_changed_a_page_last(workspace: Workspace, clock: Clock) -> None:
    """By whom, through what, on which day; the same while the page is."""
    context = workspace.acting(actor="eve", surface="mcp")
    scope = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    context.pages.write(scope, "noted\n", change=context.change("write"))
    text = workspace.compose("chat", "ada").text
    labelled = '<page file="MEMORY.md" layer="agent" agent="ada" changed="2096-10-02" by="eve via'
    assert labelled in text
    assert '<page file="SITE.md" layer="shared" changed=' in text
    clock.advance(days=40)
    assert labelled in workspace.compose("chat", "ada").text
    put(workspace, "MEMORY.md", "by hand\n")
    assert 'by="someone outside Looseleaf" bytes="8"' in workspace.compose("chat", "ada").text


def test_the_journal_is_given_to_those_who_opted_in(workspace: Workspace, clock: Clock) -> None:
    """The last days in UTC, newest first; days without a page do not extend the window."""
    for day, text in (("02", "today"), ("01", ""), ("03", "tomorrow")):
        put(workspace, f"daily/2096/10/{day}.md", text)
    put(workspace, "daily/2096/09/30.md", "two days ago")
    put(workspace, "daily/2096/09/29.md", "too long ago")
    assert "daily" not in " ".join(list_pages(workspace.compose("chat", "ada")))
    configure(workspace, daily_memory={"enabled": True})
    assembly = workspace.compose("chat", "ada")
    assert list_pages(assembly)[-2:] == [f"daily/{TODAY}.md", "daily/2096/09/30.md"]
    assert list_left_out(assembly)["daily/2096/10/01.md"] == "empty"
    assert "daily/2096/09/29.md" not in list_left_out(assembly)
    clock.advance(days=1)
    assert list_pages(workspace.compose("chat", "ada"))[-2:] == [
        "daily/2096/10/03.md",
        "daily/2096/10/02.md",
    ]


def test_the_journal_keeps_to_its_budget(workspace: Workspace) -> None:
    """The first day whole however long; after the first that does not fit, none, and it says so."""
    configure(workspace, daily_memory={"enabled": True, "recent_days": 99})
    put(workspace, f"daily/{TODAY}.md", "x" * 9_000)
    put(workspace, "daily/2096/10/01.md", "y")
    put(workspace, "daily/2096/09/18.md", "too old: fourteen days at most")
    assembly = workspace.compose("chat", "ada")
    assert list_pages(assembly)[-1] == f"daily/{TODAY}.md"
    assert list_left_out(assembly)["daily/2096/10/01.md"] == "over_budget"
    assert "[daily/2096/10/01.md was left out: the journal may take 8192 bytes]" in assembly.text
    assert "daily/2096/09/18.md" not in list_left_out(assembly)
    put(workspace, f"daily/{TODAY}.md", "x" * 4_000)
    assert "daily/2096/10/01.md" in list_pages(workspace.compose("chat", "ada"))


def test_a_journal_that_is_off_is_not_given(workspace: Workspace) -> None:
    """However many days were asked for."""
    configure(workspace, daily_memory={"enabled": False, "recent_days": 3})
    put(workspace, f"daily/{TODAY}.md", "today")
    assembly = workspace.compose("chat", "ada")
    assert list_left_out(assembly)["daily-memory"] == "off"
    journal = next(piece.item for piece in assembly.pieces if piece.name == "daily-memory")
    assert isinstance(journal, LeftOut)
    assert journal.detail.startswith("off for this agent; to switch it on: looseleaf agents")


@pytest.mark.parametrize("days", [0, -3, 1])
def test_a_journal_has_one_day_at_least(workspace: Workspace, days: int) -> None:
    """The number of days is clamped at both ends; the switch is `enabled`."""
    configure(workspace, daily_memory={"enabled": True, "recent_days": days})
    put(workspace, f"daily/{TODAY}.md", "today")
    put(workspace, "daily/2096/10/01.md", "yesterday")
    given = list_pages(workspace.compose("chat", "ada"))
    assert f"daily/{TODAY}.md" in given
    assert "daily/2096/10/01.md" not in given


def test_a_policy_reaches_the_journal(workspace: Workspace) -> None:
    """By `daily/*`."""
    policy = {"mode": "deny", "deny": ["daily/*"]}
    configure(workspace, daily_memory={"enabled": True}, memory_policy=policy)
    put(workspace, f"daily/{TODAY}.md", "today")
    assert list_left_out(workspace.compose("chat", "ada"))[f"daily/{TODAY}.md"] == "policy_deny"


PIPELINE = PipelinePart(
    id=7,
    name="Reviews",
    system_prompt="Write one review a day.",
    memory_files=("content-strategy.md", "contexts/shop.md", "SOUL.md"),
    context_files=(
        ContextFile("brief.txt", "/up/brief.txt", "text/plain", "The brief.\n"),
        ContextFile("empty.txt", "/up/empty.txt", "text/plain", " "),
        ContextFile("cover.png", "/up/cover.png", "image/png", bytes=3_000),
    ),
    steps=("Fetch", "AI", "Publish"),
    step=1,
)


def test_a_pipeline_brings_its_pages_prompt_and_material(workspace: Workspace) -> None:
    """In pipeline mode, after the core pages."""
    put(workspace, "content-strategy.md", "strategy")
    put(workspace, "contexts/shop.md", "shop")
    put(workspace, "notes.md", "notes")
    assembly = workspace.compose(
        "pipeline", "ada", pipeline=PIPELINE, flow=FlowPart(8, "Daily", ("notes.md",))
    )
    given = ["content-strategy.md", "contexts/shop.md", "notes.md", "brief.txt"]
    assert list_pages(assembly)[3:] == given
    assert list_left_out(assembly)["SOUL.md"] == "repeated"
    assert list_left_out(assembly)["empty.txt"] == "empty"
    assert "WORKFLOW: Fetch → AI (YOU ARE HERE) → Publish\n\nPIPELINE GOALS:\n" in assembly.text
    assert '<page file="brief.txt" layer="pipeline 7" bytes="11"' in assembly.text
    files = [piece.item for piece in assembly.pieces if isinstance(piece.item, File)]
    assert files == [File("/up/cover.png", "image/png", "cover.png", 3_000)]


def test_a_pipeline_says_nothing_in_other_modes(workspace: Workspace) -> None:
    """Nor without a pipeline."""
    assembly = workspace.compose("chat", "ada", pipeline=PIPELINE)
    assert list_left_out(assembly)["pipeline-system-prompt"] == "mode"
    assert list_left_out(workspace.compose("pipeline", "ada"))["pipeline-memory-files"] == "nothing"


def test_a_policy_reaches_the_pages_of_pipelines_and_flows(workspace: Workspace) -> None:
    """Sub-paths too."""
    put(workspace, "contexts/shop.md", "shop")
    put(workspace, "notes.md", "notes")
    allowed = {"mode": "allow_only", "allow_only": ["SOUL.md", "contexts/shop.md"]}
    configure(workspace, memory_policy=allowed)
    flow = FlowPart(8, "Daily", ("notes.md",))
    assembly = workspace.compose("pipeline", "ada", pipeline=PIPELINE, flow=flow)
    assert list_pages(assembly)[:2] == ["SOUL.md", "contexts/shop.md"]
    assert list_left_out(assembly)["notes.md"] == "policy_allow_only"
    denied = workspace.compose("pipeline", "ada", pipeline=PIPELINE, deny=("contexts/*",))
    assert list_left_out(denied)["contexts/shop.md"] == "call_deny"


def test_tools_are_listed_as_far_as_the_policy_allows(workspace: Workspace) -> None:
    """With the rule for those that are not."""
    tools = (
        Tool("agent_memory", "Edits memory.", {"type": "object"}, ("memory",)),  # type: ignore[arg-type]
        Tool("publish", "Publishes."),
        Tool("delete", "Deletes."),
    )
    configure(workspace, tool_policy={"mode": "deny", "outside_tools": ["publish"]})
    assembly = workspace.compose("chat", "ada", tools=tools, tool_deny=("delete",))
    (listed,) = [
        piece.item.data
        for piece in assembly.pieces
        if isinstance(piece.item, Data) and piece.item.label == "TOOLS"
    ]
    about = {"name": "agent_memory", "description": "Edits memory."}
    assert listed == [{**about, "parameters": {"type": "object"}}]
    assert list_left_out(assembly)["publish"] == "policy_deny"
    assert list_left_out(assembly)["delete"] == "call_deny"


def test_the_site_is_described_to_the_day(workspace: Workspace) -> None:
    """The only part that knows the date, so it comes last."""
    last = workspace.compose("chat", "ada").messages[-1]
    label, _, table = last.partition(":\n\n")
    assert label == "SITE CONTEXT"
    told = {"agent": "Ada", "name": "House", "language": "en", "timezone": "UTC"}
    assert json.loads(table) == {**told, "date": "2096-10-02"}


def test_the_site_can_be_left_out(workspace: Workspace) -> None:
    """By a setting; then no part knows the date."""
    Path(workspace.root, "looseleaf.toml").write_text("site_context = false\n")
    assembly = Workspace.open(workspace.root, clock=workspace.clock).compose("chat", "ada")
    assert list_left_out(assembly)["site-context"] == "nothing"
    assert assembly.stable_text == assembly.text


def test_a_site_context_must_stay_a_table(workspace: Workspace) -> None:
    """A function that gives something else is named."""
    filters = open_parts(workspace).site_filters
    filters.register("odd", 1, lambda _site, _request: "no table")
    with pytest.raises(Invalid, match="site context of odd"):
        workspace.compose("chat", "ada")
