"""The matrix: every kind of principal tries every operation on everything, and gets no further.

The operations come from the catalog; a new one fails here until `ABOUT` says what it is about. What
each permission allows is written down once more in `ALLOWED`, by hand and apart from the code.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.catalog.dispatch import invoke, require_possible
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import build_input_schema
from looseleaf.errors import Forbidden, LooseleafError
from looseleaf.errors.features import FlowMissing, JobMissing, PipelineMissing, ScheduleMissing
from looseleaf.errors.operations import CredentialMissing
from looseleaf.errors.pages import AgentMissing
from tests.conftest import sample

OWNER, OTHER, SOMEONE = 2, 3, 4  # users; the agent ada is the owner's, bobs is the other's
ADA, BOBS = 1, 2


def _granted(role: str) -> Principal:
    return Principal(kind="session", user_id=SOMEONE, name="someone", grants={ADA: role})


def _can(capability: str) -> Principal:
    return Principal(
        kind="session", user_id=SOMEONE, name="someone", capabilities=frozenset((capability,))
    )


PEOPLE = {
    "stranger": Principal(kind="session", user_id=SOMEONE, name="someone"),
    "viewer": _granted("viewer"),
    "operator": _granted("operator"),
    "admin": _granted("admin"),
    "owner": Principal(kind="session", user_id=OWNER, name="owner"),
    "builder": Principal(
        kind="session",
        user_id=SOMEONE,
        name="someone",
        capabilities=frozenset(("manage_flows",)),
        grants={ADA: "operator"},
    ),
    "chatter": _can("chat"),
    "setter": _can("manage_settings"),
    "auditor": _can("view_logs"),
    "manager": _can("manage_agents"),
    "everything": _can("manage_options"),
    # Credentials of the owner, who for once has every capability.
    "reading": Principal(
        kind="token",
        user_id=OWNER,
        name="r",
        capabilities=frozenset(("manage_options",)),
        role="viewer",
    ),
    "token": Principal(
        kind="token",
        user_id=OWNER,
        name="ada",
        capabilities=frozenset(("manage_options",)),
        agent_id=ADA,
        role="operator",
        ceiling=frozenset(("chat",)),
    ),
    # The same with the right to add to its user's pages, and in a conversation with the owner.
    "writer": Principal(
        kind="token",
        user_id=OWNER,
        name="ada",
        agent_id=ADA,
        role="operator",
        ceiling=frozenset(("write_user_pages",)),
    ),
    "present": Principal(
        kind="session",
        user_id=OWNER,
        name="ada",
        agent_id=ADA,
        role="operator",
        ceiling=frozenset(("chat",)),
        is_model=True,
        is_attended=True,
    ),
    # Somebody talks to ada, which belongs to the owner, and gives it every right of a credential.
    "borrowed": Principal(
        kind="session",
        user_id=SOMEONE,
        name="ada",
        grants={ADA: "operator"},
        agent_id=ADA,
        role="operator",
        ceiling=frozenset(("chat", "write_user_pages")),
        is_model=True,
        is_attended=True,
    ),
}
EVERYONE = frozenset(PEOPLE)
MANAGERS = frozenset(("manager", "everything"))
ADMINS = MANAGERS | {"admin", "owner"}
AGENTS = frozenset(("token", "writer", "present", "borrowed"))
PERSONS = EVERYONE - AGENTS - {"reading"}
OPERATORS = ADMINS | {"operator", "builder"} | AGENTS
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
    "settings": {"own": ALL_POWER, "other": ALL_POWER, "workspace": ALL_POWER | {"setter"}},
    "audit": {"workspace": ALL_POWER | {"auditor", "reading"}},
}
ALLOWED["append"] = {**ALLOWED["write"], "mine": PERSONS | {"writer", "present"}}
ALLOWED["flows"] = {"own": ALL_POWER | {"builder"}, "other": ALL_POWER}
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
    "datamachine/delete-flow-file": AGENT,
    "datamachine/generate-session-title": WORKSPACE,
    "datamachine/get-agent-file": PAGE,
    "datamachine/get-agent-memory": PAGE,
    "datamachine/get-chat-session": WORKSPACE,
    "datamachine/list-agent-files": tuple(item for item in PAGE if item != "identity"),
    "datamachine/list-agent-memory-sections": PAGE,
    "datamachine/list-chat-sessions": (*AGENT, *WORKSPACE),
    "datamachine/list-flow-files": AGENT,
    "datamachine/list-injectable-memory-files": AGENT,
    "datamachine/mark-session-read": WORKSPACE,
    "datamachine/scaffold-memory-file": PAGE,
    "datamachine/search-agent-memory": PAGE,
    "datamachine/search-daily-memory": AGENT,
    "datamachine/send-message": AGENT,
    "datamachine/update-agent-memory": PAGE,
    "datamachine/upload-agent-file": PAGE,
    "datamachine/upload-flow-file": AGENT,
    "datamachine/write-agent-file": PAGE,
    "datamachine/run-task": WORKSPACE,
    "datamachine/execute-workflow": AGENT,
    "datamachine/get-job": AGENT,
    "datamachine/get-run-artifacts": AGENT,
    "datamachine/hydrate-job-artifact": AGENT,
    "looseleaf/prune-job-data": WORKSPACE,
    "looseleaf/open-gate": AGENT,
    "looseleaf/show-gate-address": AGENT,
    "looseleaf/show-job-transcript": AGENT,
    "datamachine/get-jobs": (*AGENT, *WORKSPACE),
    "looseleaf/cancel-chat": WORKSPACE,
    "looseleaf/move-page": PAGE,
    "looseleaf/cancel-job": AGENT,
    "looseleaf/delete-job": AGENT,
    "looseleaf/list-schedules": WORKSPACE,
    "looseleaf/pause-job": AGENT,
    "looseleaf/pause-schedule": AGENT,
    "looseleaf/resume-job": AGENT,
    "looseleaf/resume-schedule": AGENT,
    "looseleaf/retry-job": AGENT,
    "looseleaf/run-schedule": AGENT,
    "looseleaf/show-job-packets": AGENT,
    "looseleaf/check-prompt": AGENT,
    "looseleaf/check-workspace": WORKSPACE,
    "looseleaf/commit-pages": WORKSPACE,
    "looseleaf/create-backup": WORKSPACE,
    "looseleaf/list-backups": WORKSPACE,
    "looseleaf/verify-backup": WORKSPACE,
    "looseleaf/compose-files": WORKSPACE,
    "looseleaf/compose-prompt": AGENT,
    "looseleaf/configure-agent": AGENT,
    "looseleaf/continue-chat": WORKSPACE,
    "looseleaf/create-agent": WORKSPACE,
    "looseleaf/copy-flow": AGENT,
    "looseleaf/copy-pipeline": AGENT,
    "looseleaf/create-application-password": WORKSPACE,
    "looseleaf/create-flow": AGENT,
    "looseleaf/create-login-link": WORKSPACE,
    "looseleaf/create-pipeline": AGENT,
    "looseleaf/create-token": (*AGENT, *WORKSPACE),
    "looseleaf/create-user": WORKSPACE,
    "looseleaf/delete-agent": AGENT,
    "looseleaf/delete-flow": AGENT,
    "looseleaf/delete-pipeline": AGENT,
    "looseleaf/detect-import": WORKSPACE,
    "looseleaf/diff-prompts": AGENT,
    "looseleaf/explain-prompt": AGENT,
    "looseleaf/export-block": WORKSPACE,
    "looseleaf/export-bundle": AGENT,
    "looseleaf/export-chat-session": WORKSPACE,
    "looseleaf/export-pages": WORKSPACE,
    "looseleaf/export-pipeline": AGENT,
    "looseleaf/find-pages": tuple(item for item in PAGE if item != "identity"),
    "looseleaf/finish-chat-session": WORKSPACE,
    "looseleaf/fix-memory": AGENT,
    "looseleaf/grant-role": AGENT,
    "looseleaf/import-pipeline": AGENT,
    "looseleaf/inspect-bundle": WORKSPACE,
    "looseleaf/install-bundle": WORKSPACE,
    "looseleaf/lint-memory": AGENT,
    "looseleaf/list-agents": WORKSPACE,
    "looseleaf/list-deleted-agents": WORKSPACE,
    "looseleaf/list-audit": WORKSPACE,
    "looseleaf/list-models": AGENT,
    "looseleaf/list-bundles": WORKSPACE,
    "looseleaf/list-flow-memory-files": AGENT,
    "looseleaf/list-flows": (*AGENT, *WORKSPACE),
    "looseleaf/list-grants": AGENT,
    "looseleaf/list-import-sources": WORKSPACE,
    "looseleaf/list-pipeline-memory-files": AGENT,
    "looseleaf/list-pipelines": (*AGENT, *WORKSPACE),
    "looseleaf/list-settings": WORKSPACE,
    "looseleaf/list-step-types": WORKSPACE,
    "looseleaf/list-system-tasks": WORKSPACE,
    "looseleaf/list-task-prompts": WORKSPACE,
    "looseleaf/list-task-runs": WORKSPACE,
    "looseleaf/list-tokens": (*AGENT, *WORKSPACE),
    "looseleaf/list-users": WORKSPACE,
    "looseleaf/blame-page": PAGE,
    "looseleaf/page-diff": PAGE,
    "looseleaf/list-recent": AGENT,
    "looseleaf/page-history": PAGE,
    "looseleaf/plan-bundle": WORKSPACE,
    "looseleaf/preview-agent-config": AGENT,
    "looseleaf/preview-import": WORKSPACE,
    "looseleaf/preview-bundle": AGENT,
    "looseleaf/preview-retention": WORKSPACE,
    "looseleaf/preview-upkeep": AGENT,
    "looseleaf/prune-chat-sessions": WORKSPACE,
    "looseleaf/prune-history": WORKSPACE,
    "looseleaf/pack-history": WORKSPACE,
    "looseleaf/purge-revision": PAGE,
    "looseleaf/queue-prompt": AGENT,
    "looseleaf/rename-agent": AGENT,
    "looseleaf/reset-task-prompt": WORKSPACE,
    "looseleaf/restore-agent": WORKSPACE,
    "looseleaf/rename-chat-session": WORKSPACE,
    "looseleaf/restore-page": PAGE,
    "looseleaf/revoke-role": AGENT,
    "looseleaf/revoke-token": ("own", "other"),
    "looseleaf/run-import": WORKSPACE,
    "looseleaf/run-retention": WORKSPACE,
    "looseleaf/search-chat-sessions": (*AGENT, *WORKSPACE),
    "looseleaf/set-agent-status": AGENT,
    "looseleaf/set-flow-memory-files": AGENT,
    "looseleaf/set-pipeline-memory-files": AGENT,
    "looseleaf/set-setting": WORKSPACE,
    "looseleaf/set-settings": WORKSPACE,
    "looseleaf/set-task-prompt": WORKSPACE,
    "looseleaf/show-bundle": AGENT,
    "looseleaf/show-bundle-status": WORKSPACE,
    "looseleaf/rebase-bundle": AGENT,
    "looseleaf/list-pending-upgrades": WORKSPACE,
    "looseleaf/show-pending-upgrade": AGENT,
    "looseleaf/approve-upgrade": AGENT,
    "looseleaf/reject-upgrade": AGENT,
    "looseleaf/upgrade-bundle": AGENT,
    "looseleaf/show-agent": AGENT,
    "looseleaf/show-flow": AGENT,
    "looseleaf/show-pipeline": AGENT,
    "looseleaf/show-retention": WORKSPACE,
    "looseleaf/show-status": (*AGENT, *WORKSPACE),
    "looseleaf/show-step-type": WORKSPACE,
    "looseleaf/show-system-status": WORKSPACE,
    "looseleaf/show-task-prompt": WORKSPACE,
    "looseleaf/show-upkeep-run": AGENT,
    "looseleaf/show-user": WORKSPACE,
    "looseleaf/summarize-agents": WORKSPACE,
    "looseleaf/update-flow": AGENT,
    "looseleaf/update-pipeline": AGENT,
    "looseleaf/undo-upkeep": AGENT,
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
SPOILS = ("agents", "flows", "grants", "tokens", "users")

# What to give for an argument that is needed.
SAMPLES: dict[str, object] = {
    "config": {"tone": "calm"},
    "content": "- a fact",
    "data": "eA==",
    "date": "2026-04-17",
    "document": {"schema_version": 1, "slug": "p", "name": "P"},
    "file": "notes.md",
    "folder": "/nowhere",
    "login": "newcomer",
    "message": "Hello",
    "mode": "chat",
    "name": "require_if_match",
    "new": "b",
    "to": "moved.md",
    "old": "a",
    "path": "/nowhere",
    "prompt": "Go",
    "prompt_key": "daily_memory",
    "query": "fact",
    "revision": "1",
    "role": "viewer",
    "section": "Facts",
    "session": "00000000-0000-4000-8000-000000000000",
    "setting": True,
    "settings": {"require_if_match": True},
    "slug": "fresh",
    "status": "inactive",
    "step_type": "input",
    "task_type": "daily_memory_generation",
    "title": "A title",
    "user": SOMEONE,
    "words": "fact",
}
REFUSALS = (
    Forbidden,
    AgentMissing,
    CredentialMissing,
    FlowMissing,
    JobMissing,
    PipelineMissing,
    ScheduleMissing,
)
JOBS = {"ada": 1, "bobs": 2, "nobody": 99}  # of each agent, and of their flows
SPECIAL: dict[str, dict[str, object]] = {
    "looseleaf/set-task-prompt": {"prompt": "{{memory_content}} ===PERSISTENT=== ===ARCHIVED==="},
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
    workspace = Workspace.create(root, agent="ada")
    local = workspace.context
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
    for slug in ("ada", "bobs"):
        invoke(local, "looseleaf/create-pipeline", {"name": "News", "agent": slug})
        flow = {"pipeline": f"{slug}/news", "name": "Morning", "schedule": {"interval": "daily"}}
        invoke(local, "looseleaf/create-flow", flow)
        invoke(local, "datamachine/execute-workflow", {"flow": f"{slug}/news/morning"})
    tokens = {
        slug: invoke(local, "looseleaf/create-token", {"agent": slug})["id"]
        for slug in ("ada", "bobs")
    }
    workspace.close()  # so that no file of its database vanishes while it is copied
    return root, tokens


@pytest.fixture
def fresh(template: tuple[Path, dict[str, str]], tmp_path: Path) -> Iterator[Any]:
    """Yield a function that makes a new copy of the template."""
    made: list[Workspace] = []

    def make() -> World:
        root = tmp_path / str(len(made))
        shutil.copytree(template[0], root)
        made.append(Workspace.open(root))
        return World(made[-1], template[1])

    yield make
    for item in made:
        item.accounts().database.close()  # type: ignore[attr-defined]


def arguments(name: str, target: str, world: World) -> dict[str, object]:
    """Return the arguments that mean a target."""
    agent = {"own": "ada", "identity": "ada", "other": "bobs", "absent": "nobody"}.get(target)
    if name == "looseleaf/revoke-token":
        return {"id": world.tokens[agent or ""]}
    made = build_input_schema(CATALOG[name])
    named = {"agent": agent, "pipeline": f"{agent}/news", "flow": f"{agent}/news/morning"}
    number = JOBS.get(agent or "", 0)
    named |= {"job": number, "schedule": f"flow:{number}"}  # type: ignore[dict-item]
    named["ref"] = f"datamachine://jobs/{number}/artifacts/transcript"
    required = [item for item in made["required"] if item != "agent" or agent is not None]
    given = {item: named.get(item) or SAMPLES[item] for item in required}
    if name.endswith(("flow-file", "flow-files", "execute-workflow")):
        given["flow"] = named["flow"]
    given |= SPECIAL.get(name, {})
    enum = made["properties"].get("mode", {}).get("enum")
    if enum:
        given["mode"] = enum[0]
    if "file" in made["properties"] and target != "workspace":
        given["file"] = _file(name, target)
    if agent is not None and not given.keys() & {"pipeline", "flow", "job", "schedule", "ref"}:
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
    """Try an operation; return the refusal, if it is one. Other errors come after permission."""
    context = world.workspace.acting(principal=PEOPLE[who], surface="test")
    given = arguments(name, target, world)
    if target == "theirs" and who == "owner":
        assert given["user"] != OWNER
    try:
        invoke(context, name, given)
    except REFUSALS as refusal:
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
    ours = {name for name, item in CATALOG.items() if item.run.__module__.startswith("looseleaf.")}
    assert ours == ABOUT.keys(), "say in ABOUT what the new operation is about"
    for name in ours:
        for target in set(ABOUT[name]) - {"absent"}:
            assert target in ALLOWED[CATALOG[name].permission], (name, target)


@pytest.mark.parametrize("name", sorted(ABOUT))
def test_nobody_gets_further_than_allowed(name: str, fresh: Any, seed: int) -> None:  # noqa: ANN401
    """Whoever may not changes nothing and learns nothing; whoever may does, by turns."""
    operation = CATALOG[name]
    world = fresh()
    for target in ABOUT[name]:
        allowed = ALLOWED[operation.permission].get(target, NOBODY)
        before = state(world)
        for who in [who for who in PEOPLE if who not in allowed]:
            assert attempt(world, who, name, target), f"{who} was not refused on {target}"
        assert state(world) == before, f"all were refused, and {target} changed"
        permitted = [who for who in PEOPLE if who in allowed]
        for who in permitted:
            # Asked before the arguments are read, and so only of those who may do nothing with it.
            require_possible(world.workspace.acting(principal=PEOPLE[who], surface="t"), operation)
        for who in sample(permitted, seed, every=3):
            refusal = attempt(world, who, name, target)
            assert refusal is None, f"{who}, {target}: {refusal!r}"
            if operation.permission in SPOILS:
                world = fresh()


@pytest.mark.parametrize("name", sorted(item for item, about in ABOUT.items() if "absent" in about))
def test_what_one_may_not_see_is_as_what_is_not_there(name: str, fresh: Any) -> None:  # noqa: ANN401
    """The same error with the same words."""
    world = fresh()
    for who in sorted(EVERYONE - MANAGERS - {"reading"}):
        hidden, absent = (attempt(world, who, name, target) for target in ("other", "absent"))
        assert type(hidden) is type(absent), who
        hidden_text = re.sub(r"bobs|job 2|flow:2", "X", str(hidden))
        assert hidden_text == re.sub(r"nobody|job 99|flow:99", "X", str(absent)), who


def test_no_listing_names_what_is_hidden(fresh: Any) -> None:  # noqa: ANN401
    """Neither an agent, nor its token, nor its pages."""
    world = fresh()
    reads = [name for name, item in CATALOG.items() if item.read_only and name in ABOUT]
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
    for item in PEOPLE:
        rows = [item in who for targets in ALLOWED.values() for who in targets.values() if who]
        assert any(rows)
        assert item == "everything" or not all(rows)
    assert len(ABOUT) * len(PEOPLE) > 500
