"""What an agent is given, and which rule decided."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import InvalidName
from looseleaf.errors.pages import InvalidPolicy
from looseleaf.files.folders import casefold_name
from looseleaf.memory.policy import (
    MemoryPolicy,
    PolicyDecision,
    ToolPolicy,
    decide,
    decide_tool,
    parse_memory_policy,
    parse_tool_policy,
    resolve_names,
    resolve_registered,
)
from looseleaf.memory.registry import FileRegistry
from looseleaf.plugins.defaults import register_core_files

PAGES = ["SOUL.md", "soul.md", "MEMORY.md", "daily/2026/04/17.md", "Daily/x.md", "daily.md"]
PATTERNS = ["SOUL.md", "Memory.md", "daily/*", "DAILY/2026/*", "daily.md", "gone.md"]
REFUSALS = ["call_deny", "policy_deny", "policy_allow_only", "call_allow_only"]

pages = st.sampled_from(PAGES)
patterns = st.lists(st.sampled_from(PATTERNS), max_size=4)


@st.composite
def memory_policies(draw: st.DrawFn) -> MemoryPolicy:
    """Any policy an agent can have."""
    config: dict[str, object] = {"mode": draw(st.sampled_from(["default", "deny", "allow_only"]))}
    if config["mode"] != "default":
        config[str(config["mode"])] = draw(patterns)
    return parse_memory_policy(config)


def hits(name: str, patterns: tuple[str, ...] | list[str]) -> bool:
    """Match as the documentation says it, one pattern at a time."""
    return any(
        casefold_name(name) == casefold_name(p)
        or (p.endswith("/*") and casefold_name(name).startswith(casefold_name(p[:-1])))
        for p in patterns
    )


@given(pages, memory_policies(), patterns, st.none() | patterns)
def test_a_decision_equals_the_reference_model(
    page: str, policy: MemoryPolicy, deny: list[str], allow_only: list[str] | None
) -> None:
    """The first rule of the precedence that refuses is named; if none does, the page is in."""
    refused = [
        hits(page, deny),
        policy.mode == "deny" and hits(page, policy.deny),
        policy.mode == "allow_only" and not hits(page, policy.allow_only),
        allow_only is not None and not hits(page, allow_only),
    ]
    rule = next((r for r, no in zip(REFUSALS, refused, strict=True) if no), "allowed")
    decision = decide(page, policy=policy, deny=deny, allow_only=allow_only)
    assert (decision.allowed, decision.rule) == (not any(refused), rule)


@given(memory_policies(), patterns, st.none() | patterns, st.lists(pages))
def test_a_list_is_decided_page_by_page(
    policy: MemoryPolicy, deny: list[str], allow_only: list[str] | None, names: list[str]
) -> None:
    """Order and repetitions stay, and each page is decided as if alone."""
    resolved = resolve_names(names, policy=policy, deny=deny, allow_only=allow_only)
    assert resolved == tuple(
        (name, decide(name, policy=policy, deny=deny, allow_only=allow_only)) for name in names
    )


@given(memory_policies(), patterns, st.none() | patterns, st.sampled_from(["chat", "system"]))
def test_registered_files_all_come_with_their_decision(
    policy: MemoryPolicy, deny: list[str], allow_only: list[str] | None, mode: str
) -> None:
    """The mode is asked last, can only take away, and every candidate is there to explain."""
    registry = FileRegistry()
    register_core_files(registry)
    registry.register("daily/notes.md", modes=["chat"])
    files = registry.files()
    resolved = resolve_registered(files, mode=mode, policy=policy, deny=deny, allow_only=allow_only)
    assert tuple(file for file, _ in resolved) == files
    for file, decision in resolved:
        alone = decide(file.filename, policy=policy, deny=deny, allow_only=allow_only)
        in_mode = file in registry.for_mode(mode)
        expected = (
            alone if in_mode or not alone.allowed else PolicyDecision(allowed=False, rule="mode")
        )
        assert decision == expected


@pytest.mark.parametrize(
    "config", [None, {}, {"mode": "default"}, {"mode": "deny"}, {"mode": "deny", "deny": []}]
)
def test_a_policy_that_says_nothing_restricts_nothing(config: Mapping[str, object] | None) -> None:
    """A missing or empty policy, the default and an empty deny list all leave everything."""
    policy = parse_memory_policy(config)
    assert all(decide(page, policy=policy).rule == "allowed" for page in PAGES)


@pytest.mark.parametrize(
    "config", [{"mode": "allow_only"}, {"mode": "allow_only", "allow_only": []}]
)
def test_allowing_only_nothing_is_nothing(config: Mapping[str, object]) -> None:
    """An empty allow_only leaves no page, not even the rules of the workspace."""
    registry = FileRegistry()
    register_core_files(registry)
    resolved = resolve_registered(registry.files(), mode="chat", policy=parse_memory_policy(config))
    assert {decision.rule for _, decision in resolved} == {"policy_allow_only"}


def test_the_wiki_generator_of_the_seeds_gets_no_personal_memory() -> None:
    """Denying MEMORY.md and USER.md leaves identity, site and rules."""
    registry = FileRegistry()
    register_core_files(registry)
    policy = parse_memory_policy({"mode": "deny", "deny": ["MEMORY.md", "USER.md"]})
    resolved = resolve_registered(registry.files(), mode="pipeline", policy=policy)
    left = [file.filename for file, decision in resolved if decision.allowed]
    assert left == ["SITE.md", "RULES.md", "SOUL.md"]


def test_the_minimal_agent_of_the_seeds_gets_its_page_in_a_folder() -> None:
    """An allow list with contexts/woocommerce-docs.md matches the page in that folder."""
    policy = parse_memory_policy(
        {"mode": "allow_only", "allow_only": ["SOUL.md", "contexts/woocommerce-docs.md"]}
    )
    assert decide("contexts/woocommerce-docs.md", policy=policy).allowed
    assert not decide("woocommerce-docs.md", policy=policy).allowed


def test_the_call_has_the_first_word() -> None:
    """A forced deny beats an agent that allows just that page."""
    policy = MemoryPolicy("allow_only", (), ("SOUL.md",))
    assert decide("SOUL.md", policy=policy, deny=["soul.md"]).rule == "call_deny"


def test_a_call_that_allows_nothing_is_not_one_that_says_nothing() -> None:
    """For a call, None narrows nothing and an empty list narrows to nothing."""
    assert decide("SOUL.md", policy=MemoryPolicy(), allow_only=None).allowed
    assert decide("SOUL.md", policy=MemoryPolicy(), allow_only=[]).rule == "call_allow_only"


@pytest.mark.parametrize("page", ["daily/2026/04/17.md", "DAILY/2026/04/17.md", "daily/x.md"])
def test_a_folder_covers_everything_below_it(page: str) -> None:
    """daily/* denies every daily page, however deep and however spelled."""
    policy = MemoryPolicy("deny", ("daily/*",))
    assert decide(page, policy=policy).rule == "policy_deny"


@pytest.mark.parametrize("page", ["daily.md", "daily-notes.md", "old/daily/x.md"])
def test_a_folder_covers_nothing_beside_it(page: str) -> None:
    """daily/* means the folder, not names that begin like it."""
    assert decide(page, policy=MemoryPolicy("deny", ("daily/*",))).allowed


@pytest.mark.parametrize("alias", ["../SOUL.md", "SOUL.md ", "./SOUL.md", "SOUL.md/", "SOUL~1.md"])
def test_a_name_no_page_can_have_is_not_decided(alias: str) -> None:
    """No alias of a denied page gets past a policy as an unknown name."""
    with pytest.raises(InvalidName):
        decide(alias, policy=MemoryPolicy("deny", ("SOUL.md",)))


@pytest.mark.parametrize(
    "config",
    [
        {"mode": "nonsense"},
        {"mode": None},
        {"mode": ["deny"]},
        {"mode": "Deny"},
        {"mode": "deny", "deny": "USER.md"},
        {"mode": "deny", "deny": None},
        {"mode": "deny", "deny": {"USER.md": True}},
        {"mode": "deny", "deny": [1]},
        {"mode": "deny", "deny": [["USER.md"]]},
        {"mode": "deny", "deny": ["USER"]},
        {"mode": "deny", "deny": ["../USER.md"]},
        {"mode": "deny", "deny": ["*"]},
        {"mode": "deny", "deny": ["*.md"]},
        {"mode": "deny", "deny": ["/*"]},
        {"mode": "deny", "deny": ["../*"]},
        {"mode": "deny", "deny": ["daily/**"]},
        {"mode": "deny", "deny": [""]},
        {"mode": "deny", "deny": ["USER.md"], "extra": 1},
        {"mode": "deny", "allow_only": ["SOUL.md"]},
        {"mode": "allow_only", "deny": ["SOUL.md"]},
        {"mode": "default", "deny": ["USER.md"]},
        {"deny": ["USER.md"]},
        [],
        "deny",
        0,
    ],
)
def test_a_policy_one_cannot_follow_fails_closed(config: Any) -> None:  # noqa: ANN401
    """A slip in a policy is an error, never full injection."""
    with pytest.raises(InvalidPolicy):
        parse_memory_policy(config)


@pytest.mark.parametrize("names", ["SOUL.md", b"SOUL.md", ["SOUL"], [None], 5])
def test_the_lists_of_a_call_are_checked_too(names: Any) -> None:  # noqa: ANN401
    """A call that passes one name instead of a list is refused, not taken letter by letter."""
    with pytest.raises(InvalidPolicy):
        decide("SOUL.md", policy=MemoryPolicy(), deny=names)
    with pytest.raises(InvalidPolicy):
        decide("SOUL.md", policy=MemoryPolicy(), allow_only=names)
    with pytest.raises((InvalidPolicy, InvalidName)):
        resolve_names(names, policy=MemoryPolicy())


def test_a_request_without_a_mode_is_refused() -> None:
    """No mode never means every file."""
    with pytest.raises(InvalidName):
        resolve_registered((), mode="", policy=MemoryPolicy())


def test_a_policy_can_be_any_mapping_and_is_not_touched() -> None:
    """The policy has its own lists, so a later change of the configuration changes nothing."""
    listed = ["USER.md"]
    policy = parse_memory_policy(MappingProxyType({"mode": "deny", "deny": listed}))
    listed.clear()
    assert policy == MemoryPolicy("deny", ("USER.md",))


TOOLS = ["web_fetch", "Memory_Read", "datamachine/get-agent-memory"]
tools = st.lists(st.sampled_from([*TOOLS, "memory_read", "gone"]), max_size=3)
categories = st.lists(st.sampled_from(["memory", "Web", "web"]), max_size=2)


@given(
    st.sampled_from(TOOLS),
    categories,
    st.builds(parse_tool_policy, st.fixed_dictionaries(
        {"mode": st.sampled_from(["deny", "allow"]), "tools": tools, "categories": categories}
    )),
    tools,
    st.none() | tools,
)  # fmt: skip
def test_a_tool_is_decided_by_the_same_precedence(
    name: str,
    of: list[str],
    policy: ToolPolicy,
    deny: list[str],
    allow_only: list[str] | None,
) -> None:
    """A tool is listed by its name or by a category, and the rules come in the same order."""
    listed = hits(name, policy.tools) or any(hits(c, policy.categories) for c in of)
    refused = [
        hits(name, deny),
        policy.mode == "deny" and listed,
        policy.mode == "allow" and not listed,
        allow_only is not None and not hits(name, allow_only),
    ]
    rule = next((r for r, no in zip(REFUSALS, refused, strict=True) if no), "allowed")
    decision = decide_tool(name, of, policy=policy, deny=deny, allow_only=allow_only)
    assert (decision.allowed, decision.rule) == (not any(refused), rule)


@pytest.mark.parametrize("config", [None, {}, {"mode": "deny"}, {"mode": "deny", "tools": []}])
def test_a_tool_policy_that_says_nothing_restricts_nothing(
    config: Mapping[str, object] | None,
) -> None:
    """A missing or empty tool policy leaves every tool."""
    assert decide_tool("web_fetch", ["web"], policy=parse_tool_policy(config)).rule == "allowed"


def test_allowing_no_tools_is_no_tools() -> None:
    """In allow mode, empty lists leave nothing."""
    policy = parse_tool_policy({"mode": "allow"})
    assert decide_tool("web_fetch", ["web"], policy=policy).rule == "policy_allow_only"


@pytest.mark.parametrize(
    "config",
    [
        {"mode": "default"},
        {"mode": "allow_only"},
        {"tools": ["a"]},
        {"categories": []},
        {"mode": "deny", "tools": "a"},
        {"mode": "deny", "tools": ["a*"]},
        {"mode": "deny", "tools": ["a b"]},
        {"mode": "deny", "tools": [""]},
        {"mode": "deny", "tools": [1]},
        {"mode": "deny", "categories": {"web": 1}},
        {"mode": "deny", "deny": ["a"]},
        [],
    ],
)
def test_a_tool_policy_one_cannot_follow_fails_closed(config: Any) -> None:  # noqa: ANN401
    """A slip in a tool policy is an error, never every tool."""
    with pytest.raises(InvalidPolicy):
        parse_tool_policy(config)
