"""The matrix: every kind of principal tries every operation on everything, and gets no further.

The operations come from the catalog; a new one fails here until `ABOUT` says what it is about. What
each permission allows is written down once more in `ALLOWED`, by hand and apart from the code.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from looseleaf import Workspace
from looseleaf.agents.access import Principal
from looseleaf.errors import AgentMissing, CredentialMissing, Forbidden, LooseleafError
from looseleaf.operations.catalog import CATALOG
from looseleaf.operations.run import ROOMS, invoke
from looseleaf.operations.schema import schema

OWNER, OTHER, SOMEONE = 2, 3, 4  # users; the agent ada is the owner's, bobs is the other's
ADA, BOBS = 1, 2


def _granted(role: str) -> Principal:
    return Principal("session", SOMEONE, "someone", grants={ADA: role})


def _can(capability: str) -> Principal:
    return Principal("session", SOMEONE, "someone", frozenset((capability,)))


PEOPLE = {
    "stranger": Principal("session", SOMEONE, "someone"),
    "viewer": _granted("viewer"),
    "operator": _granted("operator"),
    "admin": _granted("admin"),
    "owner": Principal("session", OWNER, "owner"),
    "chatter": _can("chat"),
    "setter": _can("manage_settings"),
    "auditor": _can("view_logs"),
    "manager": _can("manage_agents"),
    "everything": _can("manage_options"),
    # Credentials of the owner, who for once has every capability.
    "reading": Principal("token", OWNER, "r", frozenset(("manage_options",)), role="viewer"),
    "token": Principal(
        "token", OWNER, "ada", frozenset(("manage_options",)), agent_id=ADA, role="operator",
        ceiling=frozenset(("chat",)),
    ),
    # The same with the right to add to its user's pages, and in a conversation with the owner.
    "writer": Principal(
        "token", OWNER, "ada", agent_id=ADA, role="operator",
        ceiling=frozenset(("write_user_pages",)),
    ),
    "present": Principal(
        "session", OWNER, "ada", agent_id=ADA, role="operator",
        ceiling=frozenset(("chat",)), is_model=True, is_attended=True,
    ),
}  # fmt: skip
EVERYONE = frozenset(PEOPLE)
MANAGERS = frozenset(("manager", "everything"))
ADMINS = MANAGERS | {"admin", "owner"}
AGENTS = frozenset(("token", "writer", "present"))
PERSONS = EVERYONE - AGENTS - {"reading"}
OPERATORS = ADMINS | {"operator"} | AGENTS
VIEWERS = OPERATORS | {"viewer", "reading"}
ALL_POWER = frozenset(("everything",))
NOBODY: frozenset[str] = frozenset()

# Who may, by permission and by what is meant.
ALLOWED: dict[str, dict[str, frozenset[str]]] = {
    "read": {
        "own": VIEWERS,
        "identity": VIEWERS,
        "other": MANAGERS | {"reading"},
        "shared": EVERYONE,
        "mine": EVERYONE,
        "theirs": MANAGERS | {"reading"},
        "workspace": EVERYONE,
    },
    "write": {
        "own": OPERATORS,
        "identity": ADMINS,
        "other": MANAGERS,
        "shared": ALL_POWER,
        "mine": PERSONS,  # replacing what stands in the prompts of all agents of a user
        "theirs": MANAGERS,
    },
    "identity": {"workspace": ALL_POWER},
    "agents": {"own": ADMINS, "other": MANAGERS, "workspace": MANAGERS},
    "grants": {"own": ADMINS, "other": MANAGERS},
    "tokens": {"own": ADMINS, "other": MANAGERS, "workspace": PERSONS},
    "list_tokens": {
        "own": OPERATORS,
        "other": MANAGERS,
        "workspace": EVERYONE,
    },
    "operate": {
        "own": ALL_POWER,
        "identity": ALL_POWER,
        "other": ALL_POWER,
        "shared": ALL_POWER,
        "mine": ALL_POWER,
        "theirs": ALL_POWER,
        "workspace": ALL_POWER,
    },
    "users": {"workspace": ALL_POWER},
    "settings": {"workspace": ALL_POWER | {"setter"}},
    "audit": {"workspace": ALL_POWER | {"auditor", "reading"}},
}
ALLOWED["append"] = {**ALLOWED["write"], "mine": PERSONS | {"writer", "present"}}
ALLOWED["history"] = ALLOWED["read"]
ALLOWED["chat"] = {
    "own": ALL_POWER | {"token"},
    "other": ALL_POWER,
    "workspace": ALL_POWER | {"token", "chatter"},
}

# What an operation is about: a page on any layer, an agent, or the workspace.
PAGE = ("own", "identity", "other", "absent", "shared", "mine", "theirs")
AGENT = ("own", "other", "absent")
WORKSPACE = ("workspace",)
ABOUT: dict[str, tuple[str, ...]] = {
    "datamachine/append-agent-file": PAGE,
    "datamachine/clear-agent-file": PAGE,
    "datamachine/daily-memory-delete": AGENT,
    "datamachine/daily-memory-list": AGENT,
    "datamachine/daily-memory-read": AGENT,
    "datamachine/daily-memory-write": AGENT,
    "datamachine/delete-agent-file": PAGE,
    "datamachine/delete-agent-memory-section": PAGE,
    "datamachine/delete-chat-session": WORKSPACE,
    "datamachine/generate-session-title": WORKSPACE,
    "datamachine/get-agent-file": PAGE,
    "datamachine/get-agent-memory": PAGE,
    "datamachine/get-chat-session": WORKSPACE,
    "datamachine/list-agent-files": tuple(one for one in PAGE if one != "identity"),
    "datamachine/list-agent-memory-sections": PAGE,
    "datamachine/list-chat-sessions": (*AGENT, *WORKSPACE),
    "datamachine/list-injectable-memory-files": AGENT,
    "datamachine/mark-session-read": WORKSPACE,
    "datamachine/scaffold-memory-file": PAGE,
    "datamachine/search-agent-memory": PAGE,
    "datamachine/search-daily-memory": AGENT,
    "datamachine/send-message": AGENT,
    "datamachine/update-agent-memory": PAGE,
    "datamachine/upload-agent-file": PAGE,
    "datamachine/write-agent-file": PAGE,
    "looseleaf/cancel-chat": WORKSPACE,
    "looseleaf/check-prompt": AGENT,
    "looseleaf/check-workspace": WORKSPACE,
    "looseleaf/compose-files": WORKSPACE,
    "looseleaf/compose-prompt": AGENT,
    "looseleaf/configure-agent": AGENT,
    "looseleaf/continue-chat": WORKSPACE,
    "looseleaf/create-agent": WORKSPACE,
    "looseleaf/create-application-password": WORKSPACE,
    "looseleaf/create-login-link": WORKSPACE,
    "looseleaf/create-token": (*AGENT, *WORKSPACE),
    "looseleaf/create-user": WORKSPACE,
    "looseleaf/delete-agent": AGENT,
    "looseleaf/diff-prompts": AGENT,
    "looseleaf/explain-prompt": AGENT,
    "looseleaf/export-chat-session": WORKSPACE,
    "looseleaf/find-pages": tuple(one for one in PAGE if one != "identity"),
    "looseleaf/finish-chat-session": WORKSPACE,
    "looseleaf/grant-role": AGENT,
    "looseleaf/list-agents": WORKSPACE,
    "looseleaf/list-deleted-agents": WORKSPACE,
    "looseleaf/list-audit": WORKSPACE,
    "looseleaf/list-grants": AGENT,
    "looseleaf/list-settings": WORKSPACE,
    "looseleaf/list-tokens": (*AGENT, *WORKSPACE),
    "looseleaf/list-users": WORKSPACE,
    "looseleaf/page-diff": PAGE,
    "looseleaf/page-history": PAGE,
    "looseleaf/prune-chat-sessions": WORKSPACE,
    "looseleaf/prune-history": WORKSPACE,
    "looseleaf/purge-revision": PAGE,
    "looseleaf/rename-agent": AGENT,
    "looseleaf/restore-agent": WORKSPACE,
    "looseleaf/rename-chat-session": WORKSPACE,
    "looseleaf/restore-page": PAGE,
    "looseleaf/revoke-role": AGENT,
    "looseleaf/revoke-token": ("own", "other"),
    "looseleaf/search-chat-sessions": (*AGENT, *WORKSPACE),
    "looseleaf/set-agent-status": AGENT,
    "looseleaf/set-setting": WORKSPACE,
    "looseleaf/set-settings": WORKSPACE,
    "looseleaf/show-agent": AGENT,
    "looseleaf/show-status": (*AGENT, *WORKSPACE),
    "looseleaf/show-user": WORKSPACE,
    "looseleaf/update-user": WORKSPACE,
    "looseleaf/verify-audit": WORKSPACE,
    "memory_long_term_add": AGENT,
    "memory_long_term_delete": AGENT,
    "memory_long_term_read": AGENT,
    "memory_long_term_update": AGENT,
    "memory_short_term_add": AGENT,
    "memory_short_term_delete": AGENT,
    "memory_short_term_read": AGENT,
    "memory_short_term_update": AGENT,
}

# What is done with these changes who may do what afterwards; a changed page does not.
SPOILS = ("agents", "grants", "tokens", "users")

# What to give for an argument that is needed.
SAMPLES: dict[str, object] = {
    "config": {"tone": "calm"},
    "content": "- a fact",
    "data": "eA==",
    "date": "2026-04-17",
    "file": "notes.md",
    "login": "newcomer",
    "message": "Hello",
    "mode": "chat",
    "name": "require_if_match",
    "new": "b",
    "old": "a",
    "query": "fact",
    "revision": "1",
    "role": "viewer",
    "section": "Facts",
    "session": "00000000-0000-4000-8000-000000000000",
    "setting": True,
    "settings": {"require_if_match": True},
    "slug": "fresh",
    "status": "inactive",
    "title": "A title",
    "user": SOMEONE,
    "words": "fact",
}
SPECIAL: dict[str, dict[str, object]] = {
    "looseleaf/purge-revision": {"revision": 1},
    "looseleaf/restore-agent": {"agent": "gone"},
}


class World(NamedTuple):
    """A workspace, and the tokens of its two agents."""

    workspace: Workspace
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Make the workspace that every attempt begins with."""
    root = tmp_path_factory.mktemp("matrix") / "template"
    local = Workspace.create(root, agent="ada").context
    for login in ("owner", "other", "someone"):
        invoke(local, "looseleaf/create-user", {"login": login})
    record = root / "agents" / "ada" / "agent.json"
    record.write_text(record.read_text().replace('"owner": 1', f'"owner": {OWNER}'))
    for slug in ("bobs", "gone"):
        invoke(local, "looseleaf/create-agent", {"slug": slug, "owner": OTHER})
    invoke(local, "looseleaf/delete-agent", {"agent": "gone"})
    places: list[dict[str, object]] = [{"agent": "ada"}, {"agent": "bobs"}, {"layer": "shared"}]
    places += [{"layer": "user", "user": user} for user in (OWNER, OTHER, SOMEONE)]
    for where in places:
        content = {"file": "notes.md", "content": "## Facts\n\n- a fact\n"}
        invoke(local, "datamachine/write-agent-file", {**content, **where})
    tokens = {
        slug: invoke(local, "looseleaf/create-token", {"agent": slug})["id"]
        for slug in ("ada", "bobs")
    }
    return root, tokens


@pytest.fixture
def fresh(template: tuple[Path, dict[str, str]], tmp_path: Path) -> Iterator[Any]:
    """Give a function that makes a new copy of the template."""
    made: list[Workspace] = []

    def make() -> World:
        root = tmp_path / str(len(made))
        shutil.copytree(template[0], root)
        made.append(Workspace.open(root))
        return World(made[-1], template[1])

    yield make
    for one in made:
        one.accounts().database.close()  # type: ignore[attr-defined]


def arguments(name: str, target: str, world: World) -> dict[str, object]:
    """Give the arguments that mean a target."""
    agent = {"own": "ada", "identity": "ada", "other": "bobs", "absent": "nobody"}.get(target)
    if name == "looseleaf/revoke-token":
        return {"id": world.tokens[agent or ""]}
    made = schema(CATALOG[name])
    given = {one: SAMPLES[one] for one in made["required"] if one != "agent"}
    given |= SPECIAL.get(name, {})
    enum = made["properties"].get("mode", {}).get("enum")
    if enum:
        given["mode"] = enum[0]
    if "file" in made["properties"] and target != "workspace":
        given["file"] = _file(name, target)
    if agent is not None:
        given["agent"] = agent
    layers: dict[str, dict[str, object]] = {
        "shared": {"layer": "shared"},
        "mine": {"layer": "user"},
        "theirs": {"layer": "user", "user": OTHER},
    }
    return {**given, **layers.get(target, {})}


def _file(name: str, target: str) -> str:
    if target == "identity":
        return "SOUL.md"
    if name == "datamachine/scaffold-memory-file":
        return {"shared": "RULES.md", "mine": "USER.md", "theirs": "USER.md"}.get(
            target, "MEMORY.md"
        )
    return "notes.md"


def attempt(world: World, who: str, name: str, target: str) -> LooseleafError | None:
    """Try an operation; give the refusal, if it is one. Other errors come after permission."""
    context = world.workspace.acting(principal=PEOPLE[who], surface="test")
    given = arguments(name, target, world)
    if target == "theirs" and who == "owner":
        assert given["user"] != OWNER
    try:
        invoke(context, name, given)
    except (Forbidden, AgentMissing, CredentialMissing) as refusal:
        return refusal
    except LooseleafError:
        return None
    return None


def state(world: World) -> dict[str, str]:
    """Sum up every page and record."""
    root = Path(world.workspace.root)
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file() and not path.is_relative_to(root / ".looseleaf")
    }


def test_every_operation_stands_in_the_matrix() -> None:
    """A new one is not forgotten, and one that is gone leaves no row."""
    assert ROOMS
    ours = {name for name, one in CATALOG.items() if one.run.__module__.startswith("looseleaf.")}
    assert ours == ABOUT.keys(), "say in ABOUT what the new operation is about"
    for name in ours:
        for target in set(ABOUT[name]) - {"absent"}:
            assert target in ALLOWED[CATALOG[name].permission], (name, target)


@pytest.mark.parametrize("name", sorted(ABOUT))
def test_nobody_gets_further_than_allowed(name: str, fresh: Any) -> None:  # noqa: ANN401
    """Whoever may does; whoever may not changes nothing and learns nothing."""
    operation = CATALOG[name]
    world = fresh()
    before = state(world)
    for target in ABOUT[name]:
        allowed = ALLOWED[operation.permission].get(target, NOBODY)
        for who in PEOPLE:
            refusal = attempt(world, who, name, target)
            assert (refusal is None) == (who in allowed), f"{who}, {target}: {refusal!r}"
            if refusal is not None:
                assert state(world) == before, f"{who} was refused, and {target} changed"
            elif operation.permission in SPOILS:
                world = fresh()
            elif not operation.read_only:
                before = state(world)


@pytest.mark.parametrize("name", sorted(one for one, about in ABOUT.items() if "absent" in about))
def test_what_one_may_not_see_is_as_what_is_not_there(name: str, fresh: Any) -> None:  # noqa: ANN401
    """The same error with the same words."""
    world = fresh()
    for who in sorted(EVERYONE - MANAGERS - {"reading"}):
        hidden, absent = (attempt(world, who, name, target) for target in ("other", "absent"))
        assert type(hidden) is type(absent), who
        assert str(hidden).replace("bobs", "X") == str(absent).replace("nobody", "X"), who


def test_no_listing_names_what_is_hidden(fresh: Any) -> None:  # noqa: ANN401
    """Neither an agent, nor its token, nor its pages."""
    world = fresh()
    reads = [name for name, one in CATALOG.items() if one.read_only and name in ABOUT]
    for who in sorted(EVERYONE - MANAGERS - {"reading", "auditor"}):
        context = world.workspace.acting(principal=PEOPLE[who], surface="test")
        for name in reads:
            for target in set(ABOUT[name]) - {"other", "theirs", "absent"}:
                try:
                    told = str(invoke(context, name, arguments(name, target, world)))
                except LooseleafError as error:
                    told = str(error)
                # SITE.md lists the agents of the workspace: that is what it is for.
                told = told.replace("- bobs: Bobs", "")
                assert "bobs" not in told, (who, name, target)
                assert world.tokens["bobs"] not in told, (who, name, target)


def test_the_matrix_is_not_trivial() -> None:
    """Each kind of principal is refused something that another one may do, and the reverse."""
    for one in PEOPLE:
        rows = [one in who for targets in ALLOWED.values() for who in targets.values() if who]
        assert any(rows)
        assert one == "everything" or not all(rows)
    assert len(ABOUT) * len(PEOPLE) > 500
