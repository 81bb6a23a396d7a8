"""Models build and run workflows where policy and person allow it, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import LOCAL_ADMINISTRATOR, SESSION, TOKEN, Principal
from looseleaf.catalog.context import Context
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.model_tools import list_model_tools, run_tool
from looseleaf.catalog.operation_tools import list_operation_tools
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.memory.provenance import JOB, Activity
from looseleaf.prompt.request import Request
from looseleaf.values import FrozenDict, replace

STEP = {"type": "input", "settings": {"source": "text", "text": "x"}}
FLOWS = frozenset(("chat", "manage_flows"))
# The principal of a conversation, the mode, and whether it may manage workflows.
OPERATOR = FrozenDict({1: "operator"})
PEOPLE = {
    "operator with the right": (
        Principal(kind=SESSION, user_id=7, name="eve", capabilities=FLOWS, grants=OPERATOR),
        "chat",
        True,
    ),
    "administrator": (
        Principal(
            kind=SESSION, user_id=1, name="root", capabilities=frozenset(("manage_options",))
        ),
        "chat",
        True,
    ),
    "the machine's operator": (LOCAL_ADMINISTRATOR, "chat", True),
    "a token for all rights": (
        Principal(kind=TOKEN, user_id=7, name="eve", capabilities=FLOWS, grants=OPERATOR),
        "chat",
        True,
    ),
    "operator without the right": (
        Principal(
            kind=SESSION, user_id=7, name="eve", capabilities=frozenset(("chat",)), grants=OPERATOR
        ),
        "chat",
        False,
    ),
    "viewer with the right": (
        Principal(
            kind=SESSION,
            user_id=7,
            name="eve",
            capabilities=FLOWS,
            grants=FrozenDict({1: "viewer"}),
        ),
        "chat",
        False,
    ),
    "a stranger with the right": (
        Principal(kind=SESSION, user_id=7, name="eve", capabilities=FLOWS),
        "chat",
        False,
    ),
    "a token for chat alone": (
        Principal(
            kind=TOKEN,
            user_id=7,
            name="eve",
            capabilities=FLOWS,
            grants=OPERATOR,
            ceiling=frozenset(("chat",)),
        ),
        "chat",
        False,
    ),
    "a token for reading": (
        Principal(
            kind=TOKEN, user_id=7, name="eve", capabilities=FLOWS, grants=OPERATOR, role="viewer"
        ),
        "chat",
        False,
    ),
    "an agent's token": (
        Principal(
            kind=TOKEN,
            user_id=7,
            name="eve",
            capabilities=FLOWS,
            grants=OPERATOR,
            agent_id=1,
            ceiling=frozenset(("chat",)),
        ),
        "chat",
        False,
    ),
    "a system task": (LOCAL_ADMINISTRATOR, "system", False),
}
# The tool policy of the agent, what the request allows, and whether the tool is named by the agent.
POLICIES: dict[str, tuple[dict[str, Any] | None, tuple[str, ...] | None, bool]] = {
    "no policy": (None, None, False),
    "a deny list": ({"mode": "deny", "tools": ["agent_daily_memory"]}, None, False),
    "an allow list without it": ({"mode": "allow", "tools": ["agent_memory"]}, None, False),
    "the request alone": (None, ("{name}",), False),
    "its name": ({"mode": "allow", "tools": ["{name}"]}, None, True),
    "its category": ({"mode": "allow", "categories": ["{category}"]}, None, True),
    "its name, and the request narrows": (
        {"mode": "allow", "tools": ["{name}"]},
        ("agent_memory",),
        False,
    ),
    "denied by category": ({"mode": "deny", "categories": ["{category}"]}, ("{name}",), False),
}
REFUSALS = {
    *("tool_denied", "forbidden", "agent_missing"),
    *("pipeline_not_found", "flow_not_found", "job_not_found", "schedule_not_found"),
}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "create_pipeline": ("flows", {"name": "News", "steps": [STEP]}),
    "create_flow": ("flows", {"pipeline": "old", "name": "Evening"}),
    "execute_workflow": ("jobs", {"flow": "morning"}),
    "run_schedule": ("schedules", {"schedule": "flow:1"}),
    "cancel_job": ("jobs", {"job": 1}),
    "delete_pipeline": ("flows", {"pipeline": "old"}),
}


@pytest.fixture
def prepared_workspace(workspace: Workspace) -> Workspace:
    """Create a workspace with a pipeline, a flow and a job of ada, and the user eve."""
    context = workspace.context
    invoke(context, "looseleaf/create-pipeline", {"name": "Old", "steps": [STEP]})
    invoke(context, "looseleaf/create-flow", {"pipeline": "old", "name": "Morning"})
    invoke(context, "datamachine/execute-workflow", {"flow": "morning"})
    return workspace


def configure(
    workspace: Workspace, policy: dict[str, Any] | None, name: str, category: str
) -> None:
    """Set a tool policy for ada."""
    if policy is None:
        return
    text = json.dumps(policy).replace("{name}", name).replace("{category}", category)
    config = {"tool_policy": json.loads(text)}
    invoke(workspace.context, "looseleaf/configure-agent", {"agent": "ada", "config": config})


def call(
    workspace: Workspace,
    principal: Principal,
    name: str,
    arguments: dict[str, Any],
    **fields: Any,  # noqa: ANN401 - fields of a request
) -> dict[str, Any]:
    """Let the model of ada call a tool for a principal."""
    context: Context = replace(workspace.context, principal=principal, surface="chat")
    request = Request(
        agent=workspace.agents.resolve("ada"),
        mode=fields.pop("mode", "chat"),
        user=principal.user_id or 1,
        **fields,
    )
    return run_tool(context, request, name, arguments)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("person", PEOPLE)
def test_policy_and_person_must_both_allow_it(
    prepared_workspace: Workspace, person: str, policy: str
) -> None:
    """Every other pair is refused, and changes nothing."""
    principal, mode, may = PEOPLE[person]
    config, allow_only, is_named = POLICIES[policy]
    for name, (category, arguments) in CALLS.items():
        configure(prepared_workspace, config, name, category)
        only = None if allow_only is None else tuple(item.format(name=name) for item in allow_only)
        before = count(prepared_workspace)
        answer = call(
            prepared_workspace, principal, name, arguments, mode=mode, tool_allow_only=only
        )
        assert answer["success"] is (may and is_named), (name, answer)
        if not answer["success"]:
            assert answer["error_code"] in REFUSALS, answer
            assert count(prepared_workspace) == before


def count(workspace: Workspace) -> tuple[int, ...]:
    """Count pipelines, flows and jobs, and those that were cancelled."""
    context = workspace.context
    jobs = invoke(context, "datamachine/get-jobs", {})
    return (
        len(invoke(context, "looseleaf/list-pipelines", {})),
        len(invoke(context, "looseleaf/list-flows", {})),
        jobs["total"],
        sum(job["status"] == "cancelled" for job in jobs["jobs"]),
    )


def test_every_tool_that_changes_workflows_is_closed_without_a_policy(
    prepared_workspace: Workspace,
) -> None:
    """Whatever the request allows, and whoever is present."""
    names = [
        tool.name
        for tool in list_operation_tools(prepared_workspace.context)
        if tool.operation.permission == "flows"
    ]
    assert len(names) >= 15
    assert set(CALLS) <= set(names)
    for name in names:
        answer = call(prepared_workspace, LOCAL_ADMINISTRATOR, name, {}, tool_allow_only=(name,))
        assert answer["success"] is False
        assert answer["error_code"] != "internal", answer


@pytest.mark.parametrize("name", ["set_settings", "create_user", "create_agent", "grant_role"])
def test_no_policy_opens_what_is_for_people(prepared_workspace: Workspace, name: str) -> None:
    """A policy that names it is not enough, not even for the machine's operator."""
    configure(prepared_workspace, {"mode": "allow", "tools": ["{name}"]}, name, "")
    arguments: dict[str, dict[str, Any]] = {
        "set_settings": {"settings": {"daily_memory_enabled": True}},
        "create_user": {"login": "mallory"},
        "create_agent": {"slug": "mallory"},
        "grant_role": {"user": 1, "role": "admin"},
    }
    answer = call(prepared_workspace, LOCAL_ADMINISTRATOR, name, arguments[name])
    assert answer["success"] is False
    assert answer["error_code"] in ("forbidden", "tool_denied", "tool_missing"), answer


def test_a_model_reaches_the_workflows_of_its_own_agent_alone(
    prepared_workspace: Workspace,
) -> None:
    """A pipeline of another agent is missing for it, and it names no other agent."""
    prepared_workspace.agents.create("bob")
    other = {"name": "Other", "agent": "bob", "steps": [STEP]}
    invoke(prepared_workspace.context, "looseleaf/create-pipeline", other)
    configure(prepared_workspace, {"mode": "allow", "categories": ["flows"]}, "", "")
    missing = call(
        prepared_workspace, LOCAL_ADMINISTRATOR, "delete_pipeline", {"pipeline": "bob/other"}
    )
    assert missing["error_code"] == "pipeline_not_found"
    refused = call(prepared_workspace, LOCAL_ADMINISTRATOR, "create_pipeline", other)
    assert refused["error_data"]["name"] == "agent"
    mine = {"name": "Mine", "steps": [STEP]}
    made = call(prepared_workspace, LOCAL_ADMINISTRATOR, "create_pipeline", mine)
    assert made["data"]["agent"] == "ada"


@pytest.mark.parametrize(
    ("capabilities", "status", "may"),
    [
        (["chat", "manage_flows"], "active", True),
        (["manage_options"], "active", True),
        (["chat"], "active", False),
        (["chat", "manage_flows"], "disabled", False),
    ],
)
def test_in_a_job_the_user_of_the_job_must_have_the_right(
    prepared_workspace: Workspace,
    capabilities: list[str],
    status: str,
    may: bool,  # noqa: FBT001 - a column
) -> None:
    """The worker may do everything; the model in it may not."""
    user = {"login": "eve", "capabilities": capabilities}
    number = invoke(prepared_workspace.context, "looseleaf/create-user", user)["id"]
    invoke(prepared_workspace.context, "looseleaf/update-user", {"user": "eve", "status": status})
    bob = prepared_workspace.agents.create("bob", owner=number)
    config = {"tool_policy": {"mode": "allow", "categories": ["flows"]}}
    invoke(
        prepared_workspace.context, "looseleaf/configure-agent", {"agent": bob.id, "config": config}
    )
    request = Request(agent=prepared_workspace.agents.resolve("bob"), mode="pipeline", user=number)
    context = replace(prepared_workspace.context, activity=Activity(JOB, "job-1/step-ai/c1"))
    answer = run_tool(context, request, "create_pipeline", {"name": "News", "steps": [STEP]})
    assert answer["success"] is may, answer


def test_jobs_that_start_jobs_end_after_one_level(prepared_workspace: Workspace) -> None:
    """And no job runs a schedule."""
    configure(prepared_workspace, {"mode": "allow", "categories": ["jobs", "schedules"]}, "", "")
    request = Request(agent=prepared_workspace.agents.resolve("ada"), mode="pipeline", user=1)

    def start_from(job: int, name: str = "execute_workflow") -> dict[str, Any]:
        context = replace(
            prepared_workspace.context, activity=Activity(JOB, f"job-{job}/step-ai/c1")
        )
        arguments = {"flow": "morning"} if name == "execute_workflow" else {"schedule": "flow:1"}
        return run_tool(context, request, name, arguments)

    child = start_from(1)
    assert child["success"], child
    number = child["data"]["job_id"]
    assert jobs_of(prepared_workspace).jobs.find(number).parent_id == 1
    assert start_from(number)["error_code"] == "refused"
    assert start_from(1, "run_schedule")["error_code"] == "refused"


def test_the_tools_are_offered_where_the_policy_names_them(prepared_workspace: Workspace) -> None:
    """And are not, without it."""
    request = Request(agent=prepared_workspace.agents.resolve("ada"), mode="chat", user=1)
    assert "create_pipeline" not in {
        tool.name for tool in list_model_tools(prepared_workspace.context, request)
    }
    configure(prepared_workspace, {"mode": "allow", "categories": ["flows"]}, "", "")
    request = replace(request, agent=prepared_workspace.agents.resolve("ada"))
    offered = {tool.name for tool in list_model_tools(prepared_workspace.context, request)}
    assert {"create_pipeline", "create_flow"} <= offered
    assert "execute_workflow" not in offered
