"""Policies on every way into a prompt, against models one can see through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from looseleaf import FileRegistry, Workspace
from looseleaf.errors import InvalidName
from looseleaf.memory.policy import MemoryPolicy, resolve_registered
from looseleaf.prompt.request import FlowPart, PipelinePart
from tests.prompt.conftest import list_pages

NAMES = ("SOUL.md", "USER.md", "MEMORY.md", "a.md", "contexts/b.md", "contexts/c.md")
MODES = ("chat", "pipeline", "system", "editor")
LISTS = st.lists(st.sampled_from([*NAMES, "contexts/*", "absent.md"]), max_size=4, unique=True)
POLICIES = st.one_of(
    st.just(MemoryPolicy()),
    LISTS.map(lambda names: MemoryPolicy("deny", tuple(names))),
    LISTS.map(lambda names: MemoryPolicy("allow_only", (), tuple(names))),
)


def listed(name: str, patterns: list[str] | tuple[str, ...]) -> bool:
    """Return whether a list names a page."""
    return name in patterns or ("contexts/*" in patterns and name.startswith("contexts/"))


@given(
    registered=st.dictionaries(
        st.sampled_from(NAMES), st.lists(st.sampled_from([*MODES, "all"]), max_size=2)
    ),
    mode=st.sampled_from(MODES),
    policy=POLICIES,
    deny=LISTS,
    allow_only=st.none() | LISTS,
)
def test_the_resolver_equals_its_one_line_model(
    registered: dict[str, list[str]],
    mode: str,
    policy: MemoryPolicy,
    deny: list[str],
    allow_only: list[str] | None,
) -> None:
    """Whatever is registered, and whatever the policy and the call say."""
    registry = FileRegistry()
    for name, modes in registered.items():
        registry.register(name, modes=modes)
    given = {
        file.filename
        for file, decision in resolve_registered(
            registry.files(), mode=mode, policy=policy, deny=deny, allow_only=allow_only
        )
        if decision.allowed
    }
    assert given == {
        name
        for name, modes in registered.items()
        if not listed(name, deny)
        and not (policy.mode == "deny" and listed(name, policy.deny))
        and not (policy.mode == "allow_only" and not listed(name, policy.allow_only))
        and not (allow_only is not None and not listed(name, allow_only))
        and ("all" in modes or mode in modes)
    }


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Create a workspace in which every page says whose it is."""
    workspace = Workspace.create(tmp_path_factory.mktemp("crowded") / "root", agent="ada")
    for slug in ("bob", "eve"):
        workspace.agents.create(slug, owner=2)
    for path, owner in (
        *((f"agents/{slug}", f"agent {slug}") for slug in ("ada", "bob", "eve")),
        *((f"users/{number}", f"user {number}") for number in (1, 2, 3)),
    ):
        for name in (*NAMES, "daily/2026/11/16.md"):
            page = Path(workspace.root, path, name)
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(f"secret of {owner}\n")
    return workspace


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    slug=st.sampled_from(["ada", "bob"]),
    user=st.sampled_from([1, 2]),
    mode=st.sampled_from(MODES),
    policy=POLICIES,
    names=st.lists(st.sampled_from([*NAMES, "daily/2026/11/16.md"]), max_size=5),
    daily=st.booleans(),
)
def test_no_page_of_another_agent_or_user_is_ever_given(
    crowded: Workspace,
    slug: str,
    user: int,
    mode: str,
    policy: MemoryPolicy,
    names: list[str],
    daily: bool,  # noqa: FBT001 - drawn by name
) -> None:
    """Whatever the policy says, and whatever a pipeline or flow asks for."""
    record = Path(crowded.root, "agents", slug, "agent.json")
    found = json.loads(record.read_text())
    lists: dict[str, dict[str, tuple[str, ...]]] = {"default": {}, "deny": {"deny": policy.deny}}
    lists["allow_only"] = {"allow_only": policy.allow_only}
    found["config"] = {
        "memory_policy": {"mode": policy.mode, **lists[policy.mode]},
        "daily_memory": {"enabled": daily, "recent_days": 14},
    }
    record.write_text(json.dumps(found))
    assembly = crowded.compose(
        mode,
        slug,
        user=user,
        pipeline=PipelinePart(id=1, memory_files=tuple(names)),
        flow=FlowPart(1, memory_files=tuple(names)),
    )
    secrets = {line for line in assembly.text.split("\n") if line.startswith("secret of")}
    assert secrets <= {f"secret of agent {slug}", f"secret of user {user}"}
    for name in list_pages(assembly):
        assert policy.mode != "deny" or not listed(name, policy.deny)
        assert policy.mode != "allow_only" or listed(name, policy.allow_only)


@pytest.mark.parametrize(
    "name", ["../bob/SOUL.md", "/etc/passwd.md", "..%2fbob.md", "daily/../../bob/SOUL.md"]
)
def test_a_pipeline_cannot_climb_out(workspace: Workspace, name: str) -> None:
    """A name that leads elsewhere is refused, not left out."""
    with pytest.raises(InvalidName):
        workspace.compose("pipeline", "ada", pipeline=PipelinePart(id=1, memory_files=(name,)))
