"""Who may do what: the one decision, and what no credential can do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.access.principals import (
    CAPABILITIES,
    LOCAL_ADMINISTRATOR,
    PERMISSIONS,
    ROLES,
    Principal,
    authorize,
    confine,
    find_requirement,
    has_role,
    lower_role,
)
from looseleaf.errors import Forbidden
from looseleaf.memory.registry import FileRegistry
from looseleaf.memory.scope import Shelf
from looseleaf.plugins.defaults import register_core_files
from looseleaf.values import replace

ME, OTHER = 2, 3
MINE, GRANTED, FOREIGN = 10, 20, 30  # agents
OWNERS = {MINE: ME, GRANTED: OTHER, FOREIGN: OTHER}

capabilities = st.frozensets(st.sampled_from(CAPABILITIES))
roles = st.sampled_from(ROLES)
shelves = st.sampled_from(
    [
        None,
        Shelf("shared"),
        Shelf("network"),
        Shelf("user", ME),
        Shelf("user", OTHER),
        *(Shelf("agent", 0, agent) for agent in OWNERS),
    ]
)
owners = st.builds(
    Principal,
    kind=st.sampled_from(["session", "application password", "token"]),
    user_id=st.just(ME),
    capabilities=capabilities,
    grants=st.dictionaries(st.sampled_from([MINE, GRANTED, FOREIGN]), roles),
)
registry = FileRegistry()
register_core_files(registry)
files = st.sampled_from([None, *registry.files()])


def person(*capabilities: str, role: str = "") -> Principal:
    """Return someone who has signed in, with a role on the agent GRANTED."""
    grants = {GRANTED: role} if role else {}
    return Principal(
        kind="session", user_id=ME, capabilities=frozenset(capabilities), grants=grants
    )


def may(
    principal: Principal, permission: str, shelf: Shelf | None = None, page: str = "MEMORY.md"
) -> bool:
    owner = OWNERS.get(shelf.agent_id, 0) if shelf else 0
    return (
        find_requirement(principal, permission, shelf, owner=owner, file=registry.get(page)) is None
    )


def agent(number: int) -> Shelf:
    return Shelf("agent", 0, number)


def test_the_local_administrator_may_do_everything() -> None:
    """Also what has no name yet."""
    assert may(LOCAL_ADMINISTRATOR, "anything", agent(FOREIGN))


@given(owners, shelves)
def test_an_unknown_permission_is_refused(principal: Principal, shelf: Shelf | None) -> None:
    """Whoever asks."""
    assert not may(replace(principal, capabilities=frozenset(CAPABILITIES)), "fly", shelf)


def test_a_refusal_says_what_it_takes() -> None:
    """So that one knows whom to ask for what."""
    with pytest.raises(Forbidden, match="the role operator on this agent") as refused:
        authorize(person(role="viewer"), "write", agent(GRANTED), owner=OTHER)
    assert refused.value.code == "forbidden"


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("viewer", {"read", "history"}),
        ("operator", {"read", "history", "append", "write", "list_tokens"}),
        (
            "admin",
            {
                "read",
                "history",
                "append",
                "write",
                "list_tokens",
                "identity",
                "agents",
                "grants",
                "tokens",
            },
        ),
        ("emperor", set()),
    ],
)
def test_a_role_on_an_agent_allows_what_it_says(role: str, allowed: set[str]) -> None:
    """Viewers read, operators write, admins do everything of that agent, and of no other."""
    granted = person(role=role)
    assert {item for item in PERMISSIONS if may(granted, item, agent(GRANTED))} == allowed
    assert not any(may(granted, item, agent(FOREIGN)) for item in PERMISSIONS)


def test_only_an_admin_of_the_agent_changes_who_it_is() -> None:
    """SOUL.md is identity."""
    assert not may(person(role="operator"), "write", agent(GRANTED), "SOUL.md")
    assert not may(person(role="operator"), "write", agent(GRANTED), "soul.md")
    assert may(person(role="admin"), "write", agent(GRANTED), "SOUL.md")
    assert may(person(role="viewer"), "read", agent(GRANTED), "SOUL.md")


def test_an_owner_passes_on_their_agent() -> None:
    """Without any grant."""
    assert may(person(), "agents", agent(MINE))
    assert may(person(), "write", agent(MINE), "SOUL.md")


def test_one_s_own_pages_need_nothing_and_another_s_manage_agents() -> None:
    """Reading and writing."""
    for permission in ("read", "history", "write"):
        assert may(person(), permission, Shelf("user", ME), "USER.md")
        assert not may(person("chat"), permission, Shelf("user", OTHER), "USER.md")
        assert may(person("manage_agents"), permission, Shelf("user", OTHER), "USER.md")


def test_shared_pages_are_read_by_all_and_written_by_those_who_manage_options() -> None:
    """Also through a page that names its own capability."""
    for shelf in (Shelf("shared"), Shelf("network")):
        for permission in ("read", "history"):
            assert may(person(), permission, shelf, "RULES.md")
        for permission in ("write", "identity"):
            assert not may(person("manage_agents"), permission, shelf, "RULES.md")
            assert may(person("manage_options"), permission, shelf, "RULES.md")


def test_a_registered_capability_holds_on_every_shelf() -> None:
    """A page named RULES.md cannot be slipped in on another layer."""
    assert not may(person(role="admin"), "write", agent(GRANTED), "RULES.md")


@pytest.mark.parametrize(
    ("permission", "capability"),
    [
        ("agents", "manage_agents"),
        ("operate", "manage_options"),
        ("users", "manage_options"),
        ("settings", "manage_settings"),
        ("audit", "view_logs"),
    ],
)
def test_the_workspace_takes_a_capability(permission: str, capability: str) -> None:
    """Exactly one does, besides manage_options, which is all of them."""
    sufficient = {item for item in CAPABILITIES if may(person(item), permission)}
    assert sufficient == {capability, "manage_options"}


def test_history_is_erased_only_by_those_who_manage_options() -> None:
    """Not even by the agent's owner."""
    assert not may(person(), "operate", agent(MINE))
    assert may(person("manage_options"), "operate", agent(FOREIGN))


@given(owners, capabilities | st.none(), roles, st.sampled_from([0, *OWNERS]), shelves, files)
def test_a_token_never_has_more_than_its_owner(
    owner: Principal,
    ceiling: frozenset[str] | None,
    role: str,
    bound: int,
    shelf: Shelf | None,
    file: object,
) -> None:
    """Whatever its ceiling, its role and its agent."""
    person = replace(owner, kind="session")
    token = replace(owner, kind="token", ceiling=ceiling, role=role, agent_id=bound)
    page = getattr(file, "filename", "notes.md")
    for permission in PERMISSIONS:
        assert not may(token, permission, shelf, page) or may(person, permission, shelf, page)


@given(owners, capabilities, capabilities, st.sampled_from([0, *OWNERS]), shelves)
def test_a_lower_ceiling_allows_no_more(
    owner: Principal, ceiling: frozenset[str], more: frozenset[str], bound: int, shelf: Shelf | None
) -> None:
    """And a lower role neither."""
    high = replace(owner, ceiling=ceiling | more, agent_id=bound)
    low = replace(high, ceiling=ceiling)
    for permission in PERMISSIONS:
        assert not may(low, permission, shelf) or may(high, permission, shelf)
        for role in ROLES[:-1]:
            lesser = replace(high, role=role)
            assert not may(lesser, permission, shelf) or may(high, permission, shelf)


@given(owners, capabilities | st.none(), roles)
def test_a_bound_token_reaches_no_other_agent_and_no_other_user(
    owner: Principal, ceiling: frozenset[str] | None, role: str
) -> None:
    """Even if its owner manages all of them."""
    token = replace(
        owner,
        kind="token",
        capabilities=frozenset(CAPABILITIES),
        ceiling=ceiling,
        role=role,
        agent_id=MINE,
    )
    assert token.role_on(FOREIGN, OTHER) is None
    for permission in ("read", "write", "identity", "agents", "history", "grants", "tokens"):
        assert not may(token, permission, agent(FOREIGN))
    for permission in ("read", "write", "history"):
        assert not may(token, permission, Shelf("user", OTHER))


@given(owners, shelves)
def test_a_credential_for_reading_changes_nothing(owner: Principal, shelf: Shelf | None) -> None:
    """Its role is viewer, whatever capabilities its owner has."""
    token = replace(
        owner, kind="token", capabilities=frozenset(CAPABILITIES), ceiling=None, role="viewer"
    )
    for permission in set(PERMISSIONS) - {"read", "history", "audit", "list_tokens"}:
        assert not may(token, permission, shelf)


@given(owners, shelves, st.sampled_from(["token", "application password"]))
def test_tokens_make_no_tokens(owner: Principal, shelf: Shelf | None, kind: str) -> None:
    """Whoever steals one cannot make another that outlives it."""
    assert not may(replace(owner, kind=kind), "tokens", shelf)


def test_roles_are_ordered() -> None:
    """Each may do what those before it may."""
    assert lower_role("admin", "viewer") == "viewer"
    assert has_role("admin", "operator")
    assert not has_role("viewer", "operator")
    assert not has_role(None, "viewer")


@given(owners, capabilities | st.none(), roles, shelves)
def test_a_model_writes_pages_and_changes_nobody_s_identity(
    owner: Principal, ceiling: frozenset[str] | None, role: str, shelf: Shelf | None
) -> None:
    """However much the one may do whom it speaks for; and never more than they may."""
    whole = replace(owner, ceiling=ceiling, role=role)
    model = confine(whole)
    for permission in PERMISSIONS:
        assert not may(model, permission, shelf) or may(whole, permission, shelf)
    assert not may(model, "write", agent(MINE), "SOUL.md")
    assert not may(model, "write", Shelf("shared"), "RULES.md")
    harmless = {"read", "history", "chat"}
    assert not any(may(model, item) for item in PERMISSIONS if item not in harmless)
