"""A memory policy that binds access: no way of reading, whichever it is, gives a denied page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import CAPABILITIES, Principal, act_through, confine
from looseleaf.catalog.context import Context
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import build_input_schema
from looseleaf.errors import LooseleafError
from looseleaf.errors.pages import PageDenied
from looseleaf.values import replace

SECRET = "heliotrope"
DENIED = ("USER.md", "private.md", "RULES.md", "daily/2026/04/17.md")
POLICY = {"mode": "deny", "deny": list(DENIED)}
# Every argument that an operation may need.
SAMPLES: dict[str, object] = {
    "date": "2026-04-17",
    "file": "private.md",
    "mode": "chat",
    "query": SECRET,
    "session": "00000000-0000-4000-8000-000000000000",
    "user": 1,
    "words": SECRET,
}
PLACES: tuple[dict[str, object], ...] = ({}, {"layer": "user"}, {"layer": "shared"})
TOKEN = Principal(
    kind="token", user_id=1, name="ada", agent_id=1, role="operator", ceiling=frozenset(("chat",))
)
STRONGEST = Principal(
    kind="token", user_id=1, name="ada", capabilities=frozenset(CAPABILITIES), agent_id=1
)
READS = sorted(name for name, operation in CATALOG.items() if operation.read_only)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Create a workspace in which one word stands on denied pages alone, now and in the past."""
    made = Workspace.create(tmp_path / "memory", agent="ada")
    local = made.context
    for _ in range(2):
        for file in DENIED:
            content = {"content": f"## Facts\n\n- {SECRET}\n"}
            if file.startswith("daily/"):
                invoke(local, "datamachine/daily-memory-write", {**content, "date": "2026-04-17"})
            else:
                invoke(local, "datamachine/append-agent-file", {**content, "file": file})
    invoke(local, "datamachine/append-agent-file", {"file": "MEMORY.md", "content": "- open"})
    return made


def bind(workspace: Workspace, binds: str, token: Principal = TOKEN) -> Context:
    """Return the agent the policy, and act by its token, in a turn that began before."""
    as_it_was = workspace.agents.resolve("ada")
    config = {"memory_policy": {**POLICY, "binds": binds}}
    invoke(workspace.context, "looseleaf/configure-agent", {"agent": "ada", "config": config})
    # Tools of a turn are operations: each sees the agent as it is, not as the turn began.
    return replace(workspace.acting(principal=token, surface="test"), acting_agent=as_it_was)


def calls(name: str) -> list[dict[str, object]]:
    """Return the arguments of every call of an operation that could reach a denied page."""
    shape = build_input_schema(CATALOG[name])
    given = {item: SAMPLES[item] for item in shape["required"] if item in SAMPLES}
    if "file" not in shape["properties"]:
        places = PLACES if "layer" in shape["properties"] else PLACES[:1]
        return [{**given, **place, **extra} for place in places for extra in _extras(shape)]
    return [
        {**given, "file": file, **extra}
        for file in (*DENIED, "MEMORY.md")
        for extra in _extras(shape)
    ]


def _extras(shape: dict[str, Any]) -> list[dict[str, object]]:
    known = shape["properties"]
    extras: list[dict[str, object]] = [{}]
    extras += [{"daily": True}] if "daily" in known else []
    extras += [{"date": "2026-04-17"}] if "date" in known else []
    return extras + ([{"as_of": "2126-01-01"}] if "as_of" in known else [])


def reading(context: Context, name: str) -> str:
    """Try every call of an operation, and return all that it told."""
    texts = []
    for given in calls(name):
        try:
            result = str(invoke(context, name, given))
        except LooseleafError as error:
            result = str(error)
        texts.append(result.replace(f"'{SECRET}'", ""))  # the question itself, repeated in an error
    return "\n".join(texts)


@pytest.mark.parametrize("name", READS)
def test_no_read_gives_a_page_that_a_policy_with_access_denies(
    name: str, workspace: Workspace
) -> None:
    """Every operation that reads, from the catalog, with every place that it can name."""
    for token in (TOKEN, STRONGEST):
        assert SECRET not in reading(bind(workspace, "access", token), name)


def test_a_policy_that_binds_injection_denies_no_read(workspace: Workspace) -> None:
    """The test above could fail: without `access` the same calls give the page."""
    context = bind(workspace, "injection")
    telling = {name for name in READS if SECRET in reading(context, name)}
    assert {
        "datamachine/get-agent-memory",
        "datamachine/get-agent-file",
        "datamachine/daily-memory-read",
        "datamachine/search-agent-memory",
        "datamachine/search-daily-memory",
        "looseleaf/find-pages",
        "looseleaf/page-diff",
        "memory_short_term_read",
    } <= telling


def test_a_denied_page_is_listed_nowhere(workspace: Workspace) -> None:
    """Neither among the pages nor among the days of the journal."""
    context = bind(workspace, "access")
    listed = invoke(context, "datamachine/list-agent-files", {"daily": True})
    assert not {item["file"] for item in listed} & set(DENIED)
    assert "MEMORY.md" in {item["file"] for item in listed}
    assert invoke(context, "datamachine/daily-memory-list", {}) == {}


def test_a_denied_page_cannot_be_changed_either(workspace: Workspace) -> None:
    """The answer to a change tells of the page."""
    context = bind(workspace, "access")
    for name in ("datamachine/append-agent-file", "datamachine/write-agent-file"):
        with pytest.raises(PageDenied, match=r"private\.md"):
            invoke(context, name, {"file": "private.md", "content": "x"})
    invoke(context, "datamachine/append-agent-file", {"file": "MEMORY.md", "content": "- x"})


def test_the_policy_binds_a_conversation_and_not_the_person(workspace: Workspace) -> None:
    """A person reads with their own rights, and the model that talks for the agent does not."""
    bind(workspace, "access")
    person = Principal(kind="session", user_id=1, name="admin")
    given = {"file": "private.md"}
    own = workspace.acting(principal=person, surface="test")
    assert SECRET in str(invoke(own, "datamachine/get-agent-memory", given))
    model = workspace.acting(principal=confine(act_through(person, 1)), surface="chat")
    with pytest.raises(PageDenied):
        invoke(model, "datamachine/get-agent-memory", given)


def test_allow_only_with_access_leaves_what_it_names(workspace: Workspace) -> None:
    """Everything else is refused by name."""
    policy = {"mode": "allow_only", "allow_only": ["MEMORY.md"], "binds": "access"}
    context = bind(workspace, "access")
    config = {"config": {"memory_policy": policy}, "agent": "ada"}
    invoke(workspace.context, "looseleaf/configure-agent", config)
    invoke(context, "datamachine/get-agent-memory", {"file": "MEMORY.md"})
    with pytest.raises(PageDenied, match="policy_allow_only"):
        invoke(context, "datamachine/get-agent-memory", {"file": "SOUL.md"})
