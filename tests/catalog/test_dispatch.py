"""Dispatch for surfaces: JSON in, the principal authorized, JSON out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.catalog.context import Context
from looseleaf.catalog.dispatch import invoke, run_operation
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.resolution import scope_of
from looseleaf.catalog.schemas import build_input_schema, parse_arguments
from looseleaf.errors import Forbidden, InvalidArgument, InvalidName
from looseleaf.errors.operations import OperationMissing
from looseleaf.errors.pages import AgentMissing, DailyMemoryOff, InvalidPolicy
from looseleaf.memory.pages import PageText
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.operations import memory

ME = 2


@pytest.fixture
def mine(workspace: Workspace) -> Context:
    """Act as a user who owns the agent bob; ada belongs to someone else."""
    workspace.agents.create("bob", owner=ME)
    return workspace.acting(
        principal=Principal(kind="session", user_id=ME, name="eve"), surface="test"
    )


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_every_operation_has_a_schema(name: str) -> None:
    """Of JSON alone."""
    made = build_input_schema(CATALOG[name])
    assert json.loads(json.dumps(made)) == made
    assert set(made["required"]) <= made["properties"].keys()


def test_a_schema_says_types_choices_and_defaults() -> None:
    """As the function's signature does."""
    made = build_input_schema(CATALOG["datamachine/update-agent-memory"])
    assert made["required"] == ["section", "content", "mode"]
    assert made["additionalProperties"] is False
    fields = made["properties"]
    assert fields["mode"]["enum"] == ["set", "append"]
    assert fields["file"] == {
        "type": "string",
        "description": "The name of the page that has the section.",
        "default": "MEMORY.md",
    }
    kinds = [item["type"] for item in fields["agent"]["anyOf"]]
    assert kinds == ["string", "integer", "null"]
    assert fields["layer"]["anyOf"][0]["enum"] == [
        "shared",
        "agent",
        "user",
        "network",
        "principal",
    ]


def test_an_operation_takes_and_gives_json(mine: Context) -> None:
    """Whose page is told by plain arguments."""
    arguments = {"section": "Facts", "content": "- one", "mode": "append", "agent": "bob"}
    saved = invoke(mine, "datamachine/update-agent-memory", arguments)
    assert saved["changed"] is True
    page = invoke(mine, "datamachine/get-agent-memory", {"section": "Facts"})
    assert (page["content"], page["file"]) == ("- one", "MEMORY.md")
    assert json.loads(json.dumps(page)) == page


def test_the_names_of_the_seeds_are_understood(mine: Context) -> None:
    """And 0 is nobody in particular, as there."""
    arguments = {"filename": "notes.md", "content": "x", "agent_slug": "bob", "user_id": 0}
    assert invoke(mine, "datamachine/write-agent-file", arguments)["filename"] == "notes.md"
    bob = {"agent_slug": "bob"}
    known = invoke(mine, "looseleaf/show-agent", bob)["id"]
    assert invoke(mine, "datamachine/list-agent-files", {**bob, "agent_id": known})
    with pytest.raises(AgentMissing):
        invoke(mine, "datamachine/list-agent-files", {**bob, "agent_id": 1})


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"fil": "MEMORY.md"}, "fil cannot be used: datamachine/get-agent-memory takes file"),
        ({"file": 7}, "it must be string"),
        ({"file": None}, "it must be string"),
        ({"position": True}, "it must be one of integer, null"),
        ({"position": "1"}, "integer"),
        ({"position": 2**53}, "integer"),
        ({"layer": "attic"}, "it must be one of shared, agent, user, network, principal, null"),
        ({"agent": ["ada"]}, "integer"),
    ],
)
def test_a_wrong_argument_is_refused(
    mine: Context, arguments: dict[str, object], match: str
) -> None:
    """With the name of the argument and what it should be."""
    with pytest.raises(InvalidArgument, match=match) as error:
        invoke(mine, "datamachine/get-agent-memory", arguments)
    assert error.value.code == "invalid_argument"


def test_a_number_inside_an_argument_is_exact(workspace: Workspace) -> None:
    """If the operation names it; people's own objects may hold any number."""
    with pytest.raises(
        InvalidArgument, match=r"other cannot be used: other\.agent must be integer"
    ):
        invoke(workspace.context, "looseleaf/diff-prompts", {"other": {"agent": 2**53}})
    policy = {"name": "News", "tool_policy": {"seen": 2**60}}
    with pytest.raises(InvalidPolicy, match="seen"):
        invoke(workspace.context, "looseleaf/create-pipeline", policy)


def test_a_missing_argument_is_named(mine: Context) -> None:
    """Before anything is done."""
    with pytest.raises(InvalidArgument, match="content cannot be used: it is missing"):
        invoke(mine, "datamachine/write-agent-file", {"file": "a.md"})


def test_there_is_no_operation_of_another_name(mine: Context) -> None:
    """The error has a code of its own."""
    with pytest.raises(OperationMissing, match="fly"):
        invoke(mine, "fly")


def test_another_s_agent_is_missing_as_one_that_is_not_there(mine: Context) -> None:
    """By slug, by id, and without naming what there is besides."""
    messages = []
    for hidden in ("ada", 1, "nobody", 99):
        with pytest.raises(AgentMissing) as error:
            invoke(mine, "datamachine/get-agent-memory", {"agent": hidden})
        messages.append(str(error.value).replace(repr(hidden), "X"))
    assert set(messages) == {"There is no agent X. Available agents: bob."}


def test_an_operation_called_directly_is_authorised_too(mine: Context) -> None:
    """There is no way around the door: it is in the operation."""
    with pytest.raises(Forbidden):
        memory.write_page(mine, "RULES.md", "obey me")
    with pytest.raises(Forbidden):
        memory.read_memory(mine, "USER.md", where=Where(user=1))


def test_rooms_are_closed_outside_an_operation(mine: Context) -> None:
    """Who asks for a page without an operation has no permission."""
    with pytest.raises(Forbidden, match="permission that exists"):
        scope_of(mine, "MEMORY.md", DEFAULT_WHERE)


def test_listings_show_what_one_may_read(mine: Context) -> None:
    """Agents, and the pages of the agent, of the user who acts, and the shared ones."""
    assert [item["slug"] for item in invoke(mine, "looseleaf/list-agents")] == ["bob"]
    files = invoke(mine, "datamachine/list-agent-files")
    assert {item["layer"] for item in files} <= {"shared", "agent", "user", "network", "principal"}
    paths = invoke(mine, "datamachine/list-injectable-memory-files")
    assert {path["path"] for path in paths} >= {"agents/bob/SOUL.md", f"users/{ME}/USER.md"}


def test_a_token_s_agent_is_meant_when_none_is_named(workspace: Workspace) -> None:
    """However many there are."""
    workspace.agents.create("bob", owner=1)
    token = Principal(kind="token", user_id=1, name="ada", agent_id=1, role="operator")
    context = workspace.acting(principal=token)
    assert invoke(context, "looseleaf/show-agent")["slug"] == "ada"
    with pytest.raises(AgentMissing):
        invoke(context, "looseleaf/show-agent", {"agent": "bob"})


def test_the_default_agent_of_another_is_not_the_default(workspace: Workspace) -> None:
    """Who has no agent is told so."""
    stranger = workspace.acting(principal=Principal(kind="session", user_id=9, name="zoe"))
    with pytest.raises(AgentMissing, match="none yet"):
        invoke(stranger, "datamachine/get-agent-memory")


def test_who_acts_is_who_the_history_names(mine: Context) -> None:
    """Nobody can act under another's name."""
    invoke(mine, "datamachine/write-agent-file", {"file": "a.md", "content": "x"})
    (revision,) = invoke(mine, "looseleaf/page-history", {"file": "a.md"})
    assert (revision["actor"], revision["surface"]) == ("eve", "test")


def test_the_journal_is_closed_to_agents_until_it_is_switched_on(mine: Context) -> None:
    """By every way of writing it; reading is always possible."""
    day = "daily/2026/04/17.md"
    for name, arguments in (
        ("datamachine/daily-memory-write", {"content": "x"}),
        ("datamachine/daily-memory-delete", {"date": "2026-04-17"}),
        ("datamachine/write-agent-file", {"file": day, "content": "x"}),
        ("datamachine/append-agent-file", {"file": "Daily/2026/04/17.md", "content": "x"}),
        ("datamachine/delete-agent-file", {"file": day}),
        ("looseleaf/restore-page", {"file": day, "revision": "1"}),
    ):
        with pytest.raises(DailyMemoryOff, match="daily_memory_enabled = true"):
            invoke(mine, name, arguments)
    assert invoke(mine, "datamachine/daily-memory-read")["exists"] is False
    assert invoke(mine, "datamachine/daily-memory-list") == {}


def test_a_layer_cannot_be_invented(mine: Context) -> None:
    """By a caller in Python either."""
    with pytest.raises(InvalidName):
        memory.read_memory(mine, where=Where(layer="attic"))


def test_results_are_values_for_callers_in_python(mine: Context) -> None:
    """As the function gives them."""
    assert isinstance(
        run_operation(mine, "datamachine/get-agent-memory", {"file": "RULES.md"}), PageText
    )


def test_a_limit_of_any_size_is_no_failure(workspace: Workspace) -> None:
    """From Python, where numbers have no end; JSON's are refused before that."""
    from_python = CATALOG["looseleaf/find-pages"].run(workspace.context, "memory", limit=10**30)
    assert from_python.pages


def test_a_question_finds_the_page_on_every_way_and_as_of_a_time(workspace: Workspace) -> None:
    """A text search that finds nothing gives the ranked pages; the past gives the same ones."""
    context = workspace.context
    pages = {"studio.md": "We moved into the new studio.", "cake.md": "A recipe for cake."}
    for file, content in pages.items():
        invoke(context, "datamachine/write-agent-file", {"file": file, "content": content})
    question = "When did she move to the new studio?"
    found = invoke(context, "datamachine/search-agent-memory", {"query": question})
    assert (found["matches"], found["total"]) == ([], 0)
    assert found["ranked"][0]["filename"] == "studio.md"
    assert "ranked" in found["notice"]
    ranked = invoke(context, "looseleaf/find-pages", {"words": question})
    then = {"as_of": "2999-01-01"}
    assert invoke(context, "looseleaf/find-pages", {"words": question, **then}) == ranked
    past = invoke(context, "datamachine/search-agent-memory", {"query": question, **then})
    assert past["ranked"] == found["ranked"]
    assert ranked["pages"][0]["filename"] == "studio.md"
    journal = invoke(context, "datamachine/search-daily-memory", {"query": question})
    assert (journal["matches"], journal["ranked"]) == ([], [])


WRONG: dict[str, object] = {"string": "x", "integer": 3, "object": {}}  # by its own type
RIGHT = {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
Fault = tuple[str, Any]  # the place of a wrong value, and the argument that has it


def kinds(schema: dict[str, Any]) -> list[str]:
    """List the JSON types that a schema takes."""
    return [option["type"] for option in schema.get("anyOf", (schema,)) if "type" in option]


def inner_faults(schema: dict[str, Any], place: str) -> Iterator[Fault]:
    """Yield an argument with a wrong value for each place inside of it, at any depth."""
    for option in schema.get("anyOf", (schema,)):
        if "items" in option:
            yield from faults(option["items"], f"{place}[0]", lambda entry: [entry])
        properties = option.get("properties", {})
        for name, part in properties.items():
            others = {
                field: RIGHT[kinds(properties[field])[0]]
                for field in option.get("required", ())
                if field != name
            }
            yield from faults(part, f"{place}.{name}", partial(_with_field, others, name))


def _with_field(others: dict[str, Any], name: str, entry: object) -> dict[str, Any]:
    return {**others, name: entry}


def faults(schema: dict[str, Any], place: str, around: Callable[[Any], Any]) -> Iterator[Fault]:
    """Yield a wrong value at a place, and those inside of it."""
    possible = {"number": "integer"}
    expected = {possible.get(kind, kind) for kind in kinds(schema)}
    wrong = [document for kind, document in WRONG.items() if expected and kind not in expected]
    if wrong:
        yield place, around(wrong[0])
    for inner_place, entry in inner_faults(schema, place):
        yield inner_place, around(entry)


FAULTS = [
    pytest.param(name, argument, place, document, id=f"{name}-{place}")
    for name in sorted(CATALOG)
    for argument, schema in build_input_schema(CATALOG[name])["properties"].items()
    for place, document in inner_faults(schema, argument)
]


@pytest.mark.parametrize(("name", "argument", "place", "document"), FAULTS)
def test_an_error_inside_an_argument_names_its_place(
    name: str, argument: str, place: str, document: object
) -> None:
    """Of every list and object that an operation takes: the place, and what it must be."""
    with pytest.raises(InvalidArgument, match=rf" {re.escape(place)} must be "):
        parse_arguments(CATALOG[name], {argument: document})


def test_a_missing_field_of_a_record_is_named(workspace: Workspace) -> None:
    """By its place, too, and never by the words of Python."""
    given = {"message": "hello", "attachments": [{"name": "a.png"}]}
    with pytest.raises(InvalidArgument, match=r"attachments\[0\]\.\w+ is missing"):
        invoke(workspace.context, "datamachine/send-message", given)
