"""The rights of a job: those of the user it runs for, on its agent, at the time of each step."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from looseleaf.access.principals import SESSION, Principal
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.model_tools import run_tool
from looseleaf.errors import Forbidden, LooseleafError
from looseleaf.errors.features import JobForbidden
from looseleaf.errors.pages import PageMissing
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.jobs.job import Job
from looseleaf.features.workflows.jobs.services import JobStepServices, act_in_job
from looseleaf.features.workflows.operations.jobs import execute
from looseleaf.features.workflows.parts import jobs_of, step_types_of
from looseleaf.prompt.request import Request
from looseleaf.values import FrozenDict, replace
from tests.features.workflows.steps.conftest import Bench, ai_response, bench, open_bench
from tests.features.workflows.steps.test_ai import JOURNAL

__all__ = ["bench", "open_bench"]

OWNER, EVE = 2, 3
LESSON = {"target": "section", "section": "Lessons", "template": "- {{content}}"}
FLOWS = ("chat", "manage_flows")
READ = "datamachine/get-agent-file"


class Person(NamedTuple):
    """A user for whom a job runs, and whether it does."""

    user_id: int
    capabilities: tuple[str, ...] = ()
    role: str = ""
    is_active: bool = True
    may: bool = False


PEOPLE = {
    "owner": Person(OWNER, may=True),
    "owner, disabled": Person(OWNER, is_active=False),
    "admin of the agent": Person(EVE, FLOWS, "admin", may=True),
    "operator": Person(EVE, FLOWS, "operator", may=True),
    "operator without the capability": Person(EVE, ("chat",), "operator"),
    "operator, disabled": Person(EVE, FLOWS, "operator", is_active=False),
    "viewer": Person(EVE, FLOWS, "viewer"),
    "stranger": Person(EVE, FLOWS),
    "manager of agents": Person(EVE, ("manage_agents", "manage_flows"), may=True),
    "manager without workflows": Person(EVE, ("manage_agents",)),
    "administrator": Person(EVE, ("manage_options",), may=True),
    "administrator, disabled": Person(EVE, ("manage_options",), is_active=False),
    "a user without an account": Person(99),
}


@pytest.fixture
def owned(bench: Bench) -> Bench:
    """Transfer ada to a user of her own, and create the user eve."""
    context = bench.workspace.context
    for login in ("olga", "eve"):
        invoke(context, "looseleaf/create-user", {"login": login})
    record = bench.workspace.agents.create("ada2", owner=OWNER)
    bench.agent = record
    return bench


def admit(bench: Bench, person: Person) -> None:
    """Set capabilities, role and status of a user."""
    if person.user_id == 99:
        return
    context = bench.workspace.context
    fields = {
        "user": person.user_id,
        "capabilities": list(person.capabilities),
        "status": "active" if person.is_active else "disabled",
    }
    invoke(context, "looseleaf/update-user", fields)
    if person.role:
        grant = {"agent": bench.agent.slug, "user": person.user_id, "role": person.role}
        invoke(context, "looseleaf/grant-role", grant)


def job_of(bench: Bench, user_id: int, **fields: Any) -> Job:  # noqa: ANN401 - fields of a job
    """Make a job of ada2 that runs for a user."""
    return replace(bench.job(), agent_id=bench.agent.id, user_id=user_id, **fields)


def write(bench: Bench, job: Job, **settings: str) -> None:
    """Run a step of a job that changes a page."""
    run = bench.step_run("memory_update", {**LESSON, **settings}, (ai_response("x"),))
    run = replace(run, job=job, parts=JobStepServices(bench.workspace.context, job, bench.intents))
    step_types_of(bench.workspace).get("memory_update").run(run)


@pytest.mark.parametrize("name", PEOPLE)
def test_a_job_acts_while_its_user_could_start_it(owned: Bench, name: str) -> None:
    """On its own agent's pages, as an operator; every other user's job fails before its step."""
    person = PEOPLE[name]
    admit(owned, person)
    job = job_of(owned, person.user_id)
    if not person.may:
        with pytest.raises(JobForbidden, match=f"user {person.user_id}, who may not run jobs"):
            write(owned, job)
        assert owned.workspace.history.latest(owned.agent.shelf.page("MEMORY.md")) is None
        return
    write(owned, job)
    assert "- x" in owned.read("MEMORY.md")
    context = act_in_job(owned.workspace.context, job)
    assert (context.principal.user_id, context.principal.agent_id) == (
        person.user_id,
        owned.agent.id,
    )
    with pytest.raises(LooseleafError):  # another agent, whatever the rights of the user
        invoke(context, READ, {"file": "MEMORY.md", "agent": "ada"})
    with pytest.raises(Forbidden):  # pages of another user
        invoke(context, READ, {"file": "USER.md", "user": 1})
    with pytest.raises(Forbidden):  # identity takes an admin, and a job is never more than operator
        write(owned, replace(job, id=8), file="SOUL.md")
    with pytest.raises(PageMissing):  # the user's own, of which there is none yet
        invoke(context, READ, {"file": "USER.md", "user": person.user_id})


@pytest.mark.parametrize("name", PEOPLE)
def test_the_models_tools_have_the_rights_of_the_job(owned: Bench, name: str) -> None:
    """The same users, and with the tool policy the capability of the user, none of the worker's."""
    person = PEOPLE[name]
    admit(owned, person)
    config = {
        "tool_policy": {"mode": "allow", "tools": ["agent_memory", "create_pipeline"]},
    }
    invoke(
        owned.workspace.context,
        "looseleaf/configure-agent",
        {"agent": owned.agent.slug, "config": config},
    )
    agent = owned.workspace.agents.resolve(owned.agent.id)
    request = Request(agent=agent, mode="pipeline", user=person.user_id)
    answer = run_tool(
        owned.workspace.context, request, "agent_memory", {"action": "append", "content": "- y",
        "section": "Notes"},
    )  # fmt: skip
    has_role = person.is_active and (
        person.user_id == OWNER
        or person.role in {"operator", "admin"}
        or {"manage_agents", "manage_options"} & {*person.capabilities}
    )
    assert answer["success"] is bool(has_role), answer
    arguments = {"name": "News", "steps": [{"type": "input", "settings": {"source": "text"}}]}
    answer = run_tool(owned.workspace.context, request, "create_pipeline", arguments)
    may_manage = bool({"manage_flows", "manage_options"} & {*person.capabilities})
    is_refused = answer.get("error_code") in {"forbidden", "agent_missing", "tool_denied"}
    assert is_refused is not bool(has_role and may_manage), answer


def test_a_right_that_is_taken_away_ends_the_job_before_its_next_step(owned: Bench) -> None:
    """The parts of a step are opened for each step, and ask each time."""
    admit(owned, PEOPLE["operator"])
    job = job_of(owned, EVE)
    write(owned, job)
    grant = {"agent": owned.agent.slug, "user": EVE}
    invoke(owned.workspace.context, "looseleaf/revoke-role", grant)
    with pytest.raises(JobForbidden, match="the role operator on this agent"):
        write(owned, job)


def test_a_right_that_is_taken_away_ends_a_turn_before_its_next_step(owned: Bench) -> None:
    """The model is not asked again, its call changes nothing, and the job says why it ended."""
    admit(owned, PEOPLE["operator"])
    job = job_of(owned, EVE)
    parts = JobStepServices(owned.workspace.context, job, owned.intents)
    acts: list[str] = []

    def disable_user(act: str) -> None:
        acts.append(act)
        if act.startswith("calls"):
            fields = {"user": EVE, "status": "disabled"}
            invoke(owned.workspace.context, "looseleaf/update-user", fields)

    run = owned.step_run("ai", {"prompt": JOURNAL})
    run = replace(run, job=job, parts=parts, report_progress=disable_user)
    with pytest.raises(JobForbidden, match="user 3, who may not run jobs"):
        step_types_of(owned.workspace).get("ai").run(run)
    assert acts == ["asks the model", "calls agent_daily_memory"]
    assert not owned.workspace.pages.list(owned.agent.shelf, "daily")


def test_a_step_looks_its_user_up_once(owned: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the right to run the job, and for the rights of its agent; and again for each step."""
    user_ids: list[int] = []
    users = type(owned.workspace.accounts().users)
    find = users.find

    def count(accounts: Any, user_id: Any) -> Any:  # noqa: ANN401 - as the method takes it
        user_ids.append(user_id)
        return find(accounts, user_id)

    job = job_of(owned, 0)
    monkeypatch.setattr(users, "find", count)
    for _ in range(2):
        user_ids.clear()
        act_in_job(owned.workspace.context, job)
        assert len(user_ids) == 1


def test_our_own_jobs_ask_for_no_user(owned: Bench) -> None:
    """The upkeep of an agent goes on while its owner is disabled."""
    admit(owned, PEOPLE["owner, disabled"])
    job = job_of(owned, OWNER, source="system")
    JobStepServices(owned.workspace.context, job, owned.intents)


def test_a_job_without_a_user_runs_for_the_owner(owned: Bench) -> None:
    """And has the rights of the owner."""
    write(owned, job_of(owned, 0))
    admit(owned, PEOPLE["owner, disabled"])
    with pytest.raises(JobForbidden):
        write(owned, job_of(owned, 0, id=8))


@pytest.mark.parametrize("by_flow", [True, False])
def test_a_job_runs_for_the_user_who_starts_it(bench: Bench, *, by_flow: bool) -> None:
    """The operator of the machine starts it for the user of the flow, or for the owner."""
    workspace = bench.workspace
    eve = Principal(
        kind=SESSION,
        user_id=EVE,
        name="eve",
        capabilities=frozenset(FLOWS),
        grants=FrozenDict({bench.agent.id: "operator"}),
    )
    steps = (Step(type="input", settings={"source": "text", "text": "x"}),)
    choice: dict[str, Any] = {"flow": bench.flow.id} if by_flow else {"steps": steps}
    for principal, user_id in ((eve, EVE), (workspace.context.principal, 1)):
        context = replace(workspace.context, principal=principal, permission="flows")
        info = execute(context, **choice)
        assert jobs_of(workspace).jobs.find(info.job_id).user_id == user_id
