"""What searches cover: all that a prompt may show, each fact once, without generated copies."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from looseleaf import Workspace
from looseleaf.access.principals import EVERYTHING, SESSION, Principal, act_through
from looseleaf.catalog.context import Context
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.model_tools import run_tool
from looseleaf.catalog.prompt_assembly import assemble
from looseleaf.memory.provenance import Provenance
from looseleaf.memory.registry import FileRegistry
from looseleaf.memory.scope import LAYERS, Shelf, Where
from looseleaf.memory.store import Change
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


# What a search covers: everything that the prompt of the same request may show.


ADA = {"agent": "ada"}
BY_TEST = Change(provenance=Provenance("test"))
_PLUGIN = """
from looseleaf import hookimpl


@hookimpl
def register_files(files):
    for layer in ("agent", "user", "shared", "principal"):
        files.register(f"extra-{layer}.md", 40, layer=layer)
"""


@pytest.fixture
def told(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Tell something on a page of every layer, and register a further page on each."""
    root = tmp_path / "told"
    Workspace.create(root, agent="ada", clock=clock).close()
    (tmp_path / "search_plugin.py").write_text(_PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    settings = root / "looseleaf.toml"
    lines = ('plugins = ["search_plugin"]', "network = true")
    settings.write_text("\n".join((settings.read_text(), *lines, "")))
    made = Workspace.open(root, clock=clock)
    shelf = made.agents.resolve("ada").shelf
    layers = {"agent": shelf, "user": Shelf("user", 1), "shared": Shelf("shared")}
    layers["principal"] = Shelf("principal", 1, shelf.agent_id)
    for file in made.registry.files():
        if not file.composable:
            word = "zebra" if file.filename.startswith("extra") else "told"
            word += file.layer + "".join(filter(str.isalpha, file.filename)).casefold()
            text = f"## Told\n- The {word} rests\n"
            made.pages.write(layers[file.layer].page(file.filename), text, change=BY_TEST)
    invoke(made.context, "looseleaf/compose-files", {})
    return made


def list_shown(context: Context) -> list[tuple[str, str, str]]:
    """Return layer, name and a word of its own of every page in the prompt of a request."""
    assembly = assemble(context.with_permission("read"), "chat", where=Where("ada"))
    shown = []
    for piece in assembly.pieces:
        if piece.injected and piece.layer:
            body = piece.text.partition("\n")[2].rpartition("\n")[0]
            words = sorted(set(re.findall(r"[a-z]{4,}", body.casefold())), key=len)
            shown.append((piece.layer, piece.name, words[-1]))
    return shown


@pytest.mark.parametrize("who", ["operator", "agent", "owner"])
@pytest.mark.parametrize("has_index", [True, False])
def test_every_page_of_a_prompt_is_found_by_its_words(
    told: Workspace, who: str, *, has_index: bool
) -> None:
    """By a text and by words, for the operator, a token of the agent and its owner."""
    context = told.context
    if who == "agent":
        principal = act_through(context.principal, told.agents.resolve("ada").id, user=1)
        context = replace(context, principal=principal)
    elif who == "owner":
        principal = Principal(kind=SESSION, user_id=1, capabilities=frozenset([EVERYTHING]))
        context = replace(context, principal=principal)
    if not has_index:
        context = replace(context, bound_history=context.history)
    shown = list_shown(context)
    assert {layer for layer, _, _ in shown} == set(LAYERS), shown
    assert len(shown) >= 11
    for layer, name, word in shown:
        lines = invoke(context, SEARCH, {"query": word, **ADA})["matches"]
        assert (layer, name) in {(line["layer"], line["filename"]) for line in lines}, word
        pages = invoke(context, FIND, {"words": word, "limit": 50, **ADA})["pages"]
        assert (layer, name) in {(page["layer"], page["filename"]) for page in pages}, word


def test_a_layer_that_is_named_is_searched_alone(told: Workspace) -> None:
    """Also the layer of the agent."""
    for layer in ("agent", "user", "shared", "principal"):
        place = {"layer": layer, **ADA}
        lines = invoke(told.context, SEARCH, {"query": "zebra", **place})["matches"]
        assert [(line["layer"], line["filename"]) for line in lines] == [
            (layer, f"extra-{layer}.md")
        ]
        pages = invoke(told.context, FIND, {"words": "rests", **place})["pages"]
        assert {page["layer"] for page in pages} == {layer}


def test_layers_are_ranked_together_with_an_index_and_without(
    told: Workspace, clock: Clock
) -> None:
    """The same pages with the same scores, now and as of a time."""
    scan = replace(told.context, bound_history=told.context.history)
    question = {"words": "which extra page rests, the told one or the zebra?", "limit": 50, **ADA}
    clock.advance(days=2)
    for moment in ({}, {"as_of": "2096-10-02T08:00:00Z"}):  # after the pages, before the clock
        ranked = invoke(told.context, FIND, {**question, **moment})
        assert ranked == invoke(scan, FIND, {**question, **moment})
        assert len(ranked["pages"]) >= 9


def test_another_person_finds_nothing_of_mine(told: Workspace) -> None:
    """A person with a role on the agent gets its pages and the shared ones."""
    shelf = told.agents.resolve("ada").shelf
    principal = Principal(kind=SESSION, user_id=2, grants={shelf.agent_id: "viewer"})
    other = replace(told.context, principal=principal)
    lines = invoke(other, SEARCH, {"query": "zebra", **ADA})["matches"]
    assert [line["layer"] for line in lines] == ["agent", "shared"]
    pages = invoke(other, FIND, {"words": "rests", **ADA})["pages"]
    assert {page["layer"] for page in pages} == {"agent", "shared"}


def test_a_policy_that_binds_access_binds_every_layer(told: Workspace) -> None:
    """A page that the agent may not read is not found by it, whatever its layer."""
    denied = ["extra-user.md", "extra-shared.md"]
    policy = {"mode": "deny", "deny": denied, "binds": "access"}
    config = {"config": {"memory_policy": policy}}
    invoke(told.context, "looseleaf/configure-agent", {**ADA, **config})
    principal = act_through(told.context.principal, told.agents.resolve("ada").id, user=1)
    lines = invoke(replace(told.context, principal=principal), SEARCH, {"query": "zebra"})
    assert [line["layer"] for line in lines["matches"]] == ["agent", "principal"]


def test_many_lines_of_the_agent_leave_room_for_other_layers(told: Workspace) -> None:
    """Half of the matches may be of other layers; the total counts all."""
    shelf = told.agents.resolve("ada").shelf
    told.pages.write(shelf.page("many.md"), "- zebra\n" * 80, change=BY_TEST)
    results = invoke(told.context, SEARCH, {"query": "zebra", "limit": 8, **ADA})
    layers = [line["layer"] for line in results["matches"]]
    assert layers == ["agent"] * 5 + ["user", "principal", "shared"]
    assert results["total"] == 84


def test_a_fact_told_by_the_tools_is_found_on_every_surface(told: Workspace) -> None:
    """What a model writes to USER.md and RULES.md is found by REST and by the tools of models."""
    fact = {"section": "Facts", "content": "- Prefers oolong tea", "mode": "append"}
    for file in ("USER.md", "RULES.md"):
        invoke(told.context, "datamachine/update-agent-memory", {**fact, "file": file, **ADA})
    expected = {("user", "USER.md"), ("shared", "RULES.md")}
    token = invoke(told.context, "looseleaf/create-token", ADA)["token"]
    with TestClient(build_application(told), base_url="http://localhost") as client:
        for path, name in (("search", "query"), ("search/pages", "words")):
            answer = client.get(
                f"/datamachine/v1/{path}",
                params={name: "oolong tea"},
                headers={"authorization": f"Bearer {token}"},
            ).text
            assert all(f'"{file}"' in answer and f'"{layer}"' in answer for layer, file in expected)
    request = Request(agent=told.agents.resolve("ada"), mode="chat", user=1)
    for arguments in (
        {"action": "search", "query": "oolong tea"},
        {"action": "find", "words": "oolong tea"},
    ):
        answer = json.dumps(run_tool(told.context, request, "agent_memory", arguments))
        assert all(f'"{file}"' in answer for _, file in expected)
