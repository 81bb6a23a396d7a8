"""What an agent knows about one person: for that person and administrators, on every surface."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from looseleaf.access.principals import EVERYTHING, Principal, confine
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.model_tools import run_tool
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.prompt_assembly import build_request
from looseleaf.errors import Forbidden, InvalidName, LooseleafError
from looseleaf.values import replace
from tests.web.fixtures import API, PAGE, Opens, Site

FILE = "USER_MEMORY.md"
SECRET = "allergic to aspirin"
RUN = "/wp-abilities/v1/abilities"


class People(NamedTuple):
    """Ines and Otto, who may both talk to ada; Ruth, who administrates; a token of ada itself."""

    site: Site
    ids: dict[str, int]
    tokens: dict[str, str]

    def get(self, who: str, **query: Any) -> int:  # noqa: ANN401 - parameters of an address
        """Return the status of a read of the page by one of them."""
        return self.site.ask("GET", f"{PAGE}/{FILE}", self.tokens[who], params=query).status_code


@pytest.fixture
def people(opens: Opens) -> People:
    """Let ada know something about Ines, and something else about Otto."""
    site = opens(default_agent="ada")
    ids = {"ines": site.user("ines", capabilities=["chat"]), "otto": site.user("otto")}
    ids |= {"ruth": site.user("ruth", capabilities=[EVERYTHING])}
    tokens = {who: site.token(user=number) for who, number in ids.items()}
    tokens["ada"] = site.token()
    for who in ("ines", "otto"):
        site.run("looseleaf/grant-role", agent="ada", user=ids[who], role="viewer")
        text = f"# {who}\n\n- {SECRET if who == 'ines' else 'Likes rain'}\n"
        put = site.ask("PUT", f"{PAGE}/{FILE}", tokens[who], content=text.encode())
        assert put.status_code == 200, put.text
    return People(site, ids, tokens)


def test_each_person_has_a_page_of_their_own(people: People) -> None:
    """In the folder that the plugin has for it, with a history of its own."""
    root = Path(people.site.workspace.root)
    for who, number in people.ids.items():
        if who != "ruth":
            page = root / "agents/ada/users" / str(number) / FILE
            assert page.read_text().startswith(f"# {who}\n")
    answer = people.site.ask("GET", f"{PAGE}/{FILE}", people.tokens["otto"]).json()["data"]
    assert (answer["content"], answer["layer"]) == ("# otto\n\n- Likes rain\n", "principal")
    revisions = people.site.run(
        "looseleaf/page-history", file=FILE, agent="ada", user=people.ids["ines"]
    )
    assert [revision["number"] for revision in revisions] == [1]


def test_nobody_else_reads_it_but_administrators(people: People) -> None:
    """Neither by naming the user, nor by naming the folder on the layer of the agent."""
    ines = people.ids["ines"]
    assert people.get("ines") == people.get("ines", user_id=ines) == 200
    assert people.get("otto", user_id=ines) == 403
    assert people.get("ruth", user_id=ines) == 200
    assert people.get("ada", user_id=ines) == 403
    assert people.get("ada") == 404  # the agent by itself acts for its owner
    for who in people.tokens:
        for path in (f"users/{ines}/{FILE}", f"Users/{ines}/{FILE}"):
            for query in ("", "?layer=agent", f"?layer=user&user_id={ines}"):
                answer = people.site.ask("GET", f"{PAGE}/{path}{query}", people.tokens[who])
                assert answer.status_code in (400, 403, 404), (who, path, query)
                assert SECRET not in answer.text


def test_no_operation_gives_it_to_somebody_else(people: People) -> None:
    """Every operation of memory that reads is asked as Otto, with all that could name the page."""
    values: dict[str, Any] = {
        "file": FILE,
        "query": "aspirin",
        "words": "allergic aspirin",
        "mode": "chat",
        "date": "2026-04-17",
        "old": "1",
        "revision": "1",
    }
    ines = people.ids["ines"]
    token = people.tokens["otto"]
    tried = 0
    for operation in CATALOG.values():
        if not operation.read_only:
            continue
        for extra in ({}, {"layer": "principal"}, {"user": ines, "layer": "principal"}):
            names = operation.run.__annotations__
            given = {name: value for name, value in values.items() if name in names}
            given |= extra if "where" in names else {}
            url = f"{RUN}/{operation.name}/run"
            answer = people.site.ask("POST", url, token, json={"input": given})
            assert SECRET not in answer.text, (operation.name, given, answer.text)
            tried += answer.status_code == 200
    assert tried > 20
    mine = {"input": {"query": "aspirin", "layer": "principal"}}
    url = f"{RUN}/datamachine/search-agent-memory/run"
    assert SECRET in people.site.ask("POST", url, people.tokens["ines"], json=mine).text


def test_it_is_in_the_prompt_of_that_person_alone(people: People) -> None:
    """In a conversation; in pipelines and tasks nobody is there."""
    for who in people.tokens:
        for mode in ("chat", "pipeline", "system"):
            answer = people.site.ask("GET", f"{API}/prompt?mode={mode}", people.tokens[who])
            assert answer.status_code == 200, answer.text
            assert (SECRET in answer.text) is (who == "ines" and mode == "chat"), (who, mode)


def test_a_model_reaches_the_page_of_the_person_it_talks_to(people: People) -> None:
    """Whatever its arguments say, and whatever rights the person has."""
    site, ids = people.site, people.ids
    for who, sees in (("ines", True), ("otto", False), ("ruth", False)):
        account = frozenset((EVERYTHING,)) if who == "ruth" else frozenset(("chat",))
        agent = site.workspace.agents.resolve("ada")
        person = Principal(
            kind="session", user_id=ids[who], capabilities=account, grants={agent.id: "viewer"}
        )
        model = replace(confine(person), agent_id=agent.id)
        context = site.workspace.acting(principal=model, surface="rest")
        request = build_request(context.with_permission("read"), "chat")
        for extra in ({}, {"user_id": ids["ines"]}, {"agent_id": agent.id}):
            call = {"action": "get", "file": FILE, **extra}
            answer = run_tool(context, request, "agent_memory", call)
            assert (SECRET in str(answer)) is sees, (who, answer)
        told = {"action": "append", "file": FILE, "section": "Facts", "content": f"- of {who}"}
        assert run_tool(context, request, "agent_memory", told)["success"], who
        stranger = ids["otto" if who == "ines" else "ines"]
        arguments = {"file": FILE, "user": stranger}
        administrator = site.workspace.acting(
            principal=replace(person, is_model=True), surface="mcp"
        )
        with pytest.raises(LooseleafError):
            invoke(administrator, "datamachine/get-agent-memory", arguments)
        if who == "ruth":  # who may name another person for the other pages of a prompt
            named = {"mode": "chat", "agent": "ada", "user": stranger}
            assert SECRET not in str(invoke(administrator, "looseleaf/compose-prompt", named))
    pages = {
        who: site.run("datamachine/get-agent-file", file=FILE, agent="ada", user=ids[who])
        for who in ("ines", "otto", "ruth")
    }
    for who, page in pages.items():
        assert [other for other in pages if f"- of {other}" in page["content"]] == [who]


def test_the_owner_of_an_agent_is_not_told_about_its_guests(people: People) -> None:
    """Who owns an agent sees all of its own pages, and none about another person."""
    site, ids = people.site, people.ids
    site.run("looseleaf/create-agent", slug="bob", owner=ids["otto"])
    site.run("looseleaf/grant-role", agent="bob", user=ids["ines"], role="viewer")
    put = site.ask(
        "PUT", f"{PAGE}/{FILE}?agent=bob", people.tokens["ines"], content=SECRET.encode()
    )
    assert put.status_code == 200
    assert people.get("ines", agent="bob") == 200
    assert people.get("otto", agent="bob") == 404
    assert people.get("otto", agent="bob", user_id=ids["ines"]) == 403
    listed = site.ask("GET", f"{PAGE}?agent=bob", people.tokens["otto"])
    assert FILE not in [entry["filename"] for entry in listed.json()["data"]]
    site.run("looseleaf/revoke-role", agent="ada", user=ids["ines"])
    site.wait_for_decisions()
    assert people.get("ines", agent="ada") == 404  # who lost the agent lost its pages


def test_the_layer_needs_a_person_and_a_change_needs_more_than_reading(people: People) -> None:
    """A credential for reading changes nothing."""
    site, ines = people.site, people.ids["ines"]
    reading = Principal(kind="token", user_id=ines, grants={1: "viewer"}, role="viewer")
    context = site.workspace.acting(principal=reading, surface="rest")
    given = {"file": FILE, "content": "x", "agent": "ada"}
    with pytest.raises(Forbidden):
        invoke(context, "datamachine/write-agent-file", given)
    with pytest.raises(InvalidName):
        site.run("datamachine/write-agent-file", file=f"users/1/{FILE}", content="x", layer="agent")
    assert site.run("datamachine/write-agent-file", file="users/notes.md", content="x", agent="ada")
