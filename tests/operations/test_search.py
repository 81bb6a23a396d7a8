"""Searches give a fact once: generated copies of pages are left out unless they are asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.model_tools import run_tool
from looseleaf.memory.registry import FileRegistry
from looseleaf.prompt.request import Request
from looseleaf.values import replace
from looseleaf.web.app import build_application
from tests.conftest import Clock

FACT = "The harbour office opens at seven."
SEARCH, FIND = "datamachine/search-agent-memory", "looseleaf/find-pages"


@pytest.fixture
def workspace(tmp_path: Path, clock: Clock) -> Workspace:
    """Create a workspace with one fact in MEMORY.md, which AGENTS.md repeats."""
    root = tmp_path / "workspace"
    Workspace.create(root, agent="ada", clock=clock).close()
    settings = root / "looseleaf.toml"
    settings.write_text(f"{settings.read_text()}\nagents_md = true\n")
    made = Workspace.open(root, clock=clock)
    fact = {"section": "Facts", "content": f"- {FACT}", "mode": "append"}
    invoke(made.context, "datamachine/update-agent-memory", fact)
    invoke(made.context, "looseleaf/compose-files", {})
    page = made.pages.text(made.agents.resolve("ada").shelf.page("AGENTS.md"))
    assert FACT in page
    return made


@pytest.mark.parametrize("has_index", [True, False])
@pytest.mark.parametrize("is_past", [True, False])
def test_a_fact_is_given_once(
    workspace: Workspace, clock: Clock, *, has_index: bool, is_past: bool
) -> None:
    """With an index and without, now and as of a time; the total says the same."""
    context = workspace.context
    if not has_index:
        context = replace(
            context, bound_history=context.history
        )  # there is no index for some of the pages
    moment: dict[str, Any] = {}
    if is_past:
        moment["as_of"] = "2096-10-02T08:00:00Z"  # after the page, before the clock
        clock.advance(days=2)
    results = invoke(context, SEARCH, {"query": FACT, **moment})
    assert [match["filename"] for match in results["matches"]] == ["MEMORY.md"]
    assert (results["total"], results["files"]) == (1, 1)
    both = invoke(context, SEARCH, {"query": FACT, "copies": True, **moment})
    assert {match["filename"] for match in both["matches"]} == {"MEMORY.md", "AGENTS.md"}
    assert both["total"] == 2
    pages = invoke(context, FIND, {"words": "harbour office", **moment})
    assert [page["filename"] for page in pages["pages"]] == ["MEMORY.md"]
    pages = invoke(context, FIND, {"words": "harbour office", "copies": True, **moment})
    assert {page["filename"] for page in pages["pages"]} == {"MEMORY.md", "AGENTS.md"}
    asked = invoke(context, SEARCH, {"query": FACT, "file": "AGENTS.md", **moment})
    assert asked["total"] == 1


def test_a_question_without_a_match_ranks_no_copy(workspace: Workspace) -> None:
    """The pages in the place of matches are found by the same rule."""
    question = {"query": "when does the harbour office open"}
    results = invoke(workspace.context, SEARCH, question)
    assert [page["filename"] for page in results["ranked"]] == ["MEMORY.md"]


def test_every_surface_has_the_rule(workspace: Workspace) -> None:
    """REST and the tools of models; the admin site runs the same operation as they do."""
    token = invoke(workspace.context, "looseleaf/create-token", {"agent": "ada"})["token"]
    with TestClient(build_application(workspace), base_url="http://localhost") as client:
        headers = {"authorization": f"Bearer {token}"}
        answer = client.get(
            "/datamachine/v1/search", params={"query": FACT, "agent": "ada"}, headers=headers
        )
        assert answer.status_code == 200, answer.text
        assert "AGENTS.md" not in answer.text
        params = {"words": "harbour office", "agent": "ada", "copies": "true"}
        answer = client.get("/datamachine/v1/search/pages", params=params, headers=headers)
        assert "AGENTS.md" in answer.text
    request = Request(agent=workspace.agents.resolve("ada"), mode="chat", user=1)
    for arguments in (
        {"action": "search", "query": FACT},
        {"action": "find", "words": "harbour office"},
    ):
        envelope = run_tool(workspace.context, request, "agent_memory", arguments)
        assert "MEMORY.md" in json.dumps(envelope)
        assert "AGENTS.md" not in json.dumps(envelope)


def test_a_generated_page_with_facts_of_its_own_is_searched(workspace: Workspace) -> None:
    """SITE.md is generated and in every prompt; it repeats no page."""
    results = invoke(workspace.context, SEARCH, {"query": "#", "layer": "shared"})
    assert "SITE.md" in {match["filename"] for match in results["matches"]}
    registry = FileRegistry()
    assert registry.register("copy.md", composable=True, modes=()).is_copy
    assert not registry.register("facts.md", composable=True).is_copy
    assert not registry.register("notes.md", modes=()).is_copy


def test_notes_for_people_answer_no_question(tmp_path: Path) -> None:
    """The comments of a starter page are no memory; what stands beside them is."""
    with Workspace.create(tmp_path / "new", agent="ada") as workspace:
        context = workspace.context
        assert invoke(context, FIND, {"words": "What went wrong yesterday?"})["pages"] == []
        lesson = {"section": "Lessons Learned", "content": "- The upload went wrong above 5 MB"}
        invoke(context, "datamachine/update-agent-memory", {**lesson, "mode": "append"})
        (page,) = invoke(context, FIND, {"words": "What went wrong yesterday?"})["pages"]
        assert "above 5 MB" in page["snippet"]
        assert "<!--" not in page["snippet"]
        (match,) = invoke(context, SEARCH, {"query": "went wrong or surprised"})["matches"]
        assert "<!--" in match["content"]
