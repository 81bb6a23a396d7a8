"""The lifecycle of the task, in the order of Data Machine."""

from __future__ import annotations

import random
import re
import time

import pytest

from looseleaf.errors.operations import ModelFailed
from looseleaf.features.chat.session import Opening, TurnOutcome, chats_of
from looseleaf.features.upkeep.daily_task.conversation import STATUSES
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.jobs.run import plan_direct_job, plan_task_job
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.models.model import Message, Question, Usage
from looseleaf.times import format_date
from tests.features.upkeep.daily_task.behaviors import perfect
from tests.features.upkeep.daily_task.conftest import Upkeep
from tests.features.upkeep.daily_task.memories import build_memory
from tests.features.upkeep.daily_task.oracle import find_violations

PAGE = "# M\n\n" + "".join(
    f"## Topic {number}\n\n"
    + "".join(f"- fact {number}.{item} is here\n" for item in range(40))
    + "\n"
    for number in range(20)
)


def talk(upkeep: Upkeep, title: str, agent: int = 0) -> None:
    """Let a conversation of today be there."""
    opening = Opening(
        session="",
        owner=1,
        agent=agent or upkeep.agent.id,
        mode="chat",
        message=Message(role="user", text=title),
        title=title,
    )
    begun = chats_of(upkeep.workspace).turns.begin(opening)
    assert begun.lease is not None
    chats_of(upkeep.workspace).turns.end(begun.lease, [], TurnOutcome("completed", Usage()))


def add_job(upkeep: Upkeep, label: str, *, agent: int = 0, task_type: str = "") -> None:
    """Let a job of today be there, which was cancelled."""
    jobs = jobs_of(upkeep.workspace).jobs
    agent_id = agent or upkeep.agent.id
    job = plan_direct_job(label, (Step("1", "input"),), agent_id=agent_id)
    if task_type:
        job = plan_task_job(task_type, {}, label=label, agent_id=agent_id)
    jobs.request(jobs.add(job)[0].id, "cancel")


def good_answer(question: Question) -> str:
    """Divide the page that stands in the prompt."""
    text = question.messages[0].text.partition("## Current MEMORY.md Content\n\n")[2]
    return perfect(text[:-1], random.Random(1))


def test_what_comes_first(upkeep: Upkeep) -> None:
    """Disabled beats no model, that beats an empty page, that beats a page within its budget."""
    upkeep.page.write_text("")
    upkeep.configure(daily_memory_enabled=False)
    assert "daily_memory_enabled" in upkeep.run().reason
    upkeep.configure(daily_memory_enabled=True, default_model="")
    upkeep.workspace._hooks.settings = upkeep.workspace.settings
    assert f"agent {upkeep.agent.id}" in upkeep.run().reason
    upkeep.configure(default_model="script:model")
    upkeep.workspace._hooks.settings = upkeep.workspace.settings
    assert "is empty" in upkeep.run().reason
    upkeep.page.write_text("# M\n\n- small\n")
    record = upkeep.run()
    assert (record.status, record.details["original_size"]) == ("skipped", 13)
    assert "no activity" in record.reason
    assert upkeep.model.questions == []


def test_jobs_are_activity_and_upkeep_is_none(timed_upkeep: Upkeep) -> None:
    """In the seeds' form, oldest first; neither upkeep's own jobs nor those of other agents."""
    upkeep = timed_upkeep
    upkeep.page.write_text("# M\n\n- small\n")
    add_job(upkeep, "Daily Memory", task_type="daily_memory_generation")
    add_job(upkeep, "Old files", task_type="retention_files")
    add_job(upkeep, "A secret of another agent", agent=99)
    assert "no activity" in upkeep.run().reason
    add_job(upkeep, "Publish\nthe news")
    add_job(upkeep, "", task_type="image_generation")
    upkeep.model.replies = ["===PERSISTENT===\n# M\n\n- small\n===ARCHIVED===\n"]
    assert upkeep.run().status == "unchanged"
    prompt = upkeep.model.questions[0].messages[0].text
    section = prompt.partition("## Jobs completed on ")[2].partition("\n\n")[0].splitlines()[1:]
    assert section[0] == "- [direct] Publish the news: cancelled"
    assert len(section) == 2
    assert section[1].startswith("- [system] ")
    assert "secret" not in prompt


def test_a_small_page_with_activity_is_looked_at(timed_upkeep: Upkeep) -> None:
    """The prompt names the agent's own conversations; a model that keeps all changes nothing."""
    upkeep = timed_upkeep
    upkeep.page.write_text("# M\n\n- small\n")
    other = (
        upkeep.workspace.agents.create("bob").id
        if hasattr(upkeep.workspace.agents, "create")
        else 99
    )
    talk(upkeep, "Plan the garden")
    talk(upkeep, "A secret of another agent", other)
    upkeep.model.replies = ["===PERSISTENT===\n# M\n\n- small\n===ARCHIVED===\n"]
    record = upkeep.run()
    assert record.status == "unchanged"
    [question] = upkeep.model.questions
    prompt = question.messages[0].text
    today = format_date(upkeep.workspace.clock())
    assert (
        f"## Today's Activity\n\n## Chat sessions on {today}\n- [chat] Plan the garden\n" in prompt
    )
    assert "secret" not in prompt
    assert "8 KB" in prompt


def test_a_page_over_its_budget_is_compacted(upkeep: Upkeep) -> None:
    """With sizes, counts and the page of the journal."""
    upkeep.page.write_text(PAGE)
    upkeep.model.replies = [good_answer]
    record = upkeep.run(date="2026-04-17")
    assert (record.status, record.is_failure) == ("compacted", False)
    assert record.details["archive_file"] == "daily/2026/04/17.md"
    assert record.details["original_size"] == len(PAGE)
    assert record.details["new_size"] == len(upkeep.page.read_text())
    assert find_violations(PAGE, upkeep.page.read_text(), upkeep.journal()) == []
    assert "### Archived from MEMORY.md" in upkeep.journal()


def test_identity_is_not_in_the_prompt(upkeep: Upkeep) -> None:
    """SOUL, USER, MEMORY and the journal are denied, even if the mode would have them."""
    soul = upkeep.page.parent / "SOUL.md"
    soul.write_text("# Soul\n\nI am Zaphod.\n")
    upkeep.page.write_text(PAGE)
    upkeep.model.replies = [good_answer]
    upkeep.run()
    system = "\n".join(upkeep.model.questions[0].system)
    assert system
    assert "Zaphod" not in system
    assert "fact 1.1" not in system


def test_feedback_leads_to_a_good_answer(upkeep: Upkeep) -> None:
    """Up to three turns, each told what was measured."""
    upkeep.page.write_text(PAGE)
    upkeep.model.replies = ["no", "===PERSISTENT===\n- invented\n" + PAGE, good_answer]
    record = upkeep.run()
    assert record.status == "compacted"
    assert [refusal["gate"] for refusal in record.details["refusals"]] == ["markers", "budget"]
    assert record.details["turns"] == 3
    told = upkeep.model.questions[2].messages[-1]
    assert told.role == "user"
    assert f"The page has {len(PAGE)} bytes" in told.text


def test_a_rejected_answer_is_kept(upkeep: Upkeep) -> None:
    """The page is over its budget, so the run has failed, and says why."""
    upkeep.page.write_text(PAGE)
    upkeep.model.replies = ["I would rather not."]
    record = upkeep.run()
    assert (record.status, record.is_failure) == ("rejected", True)
    assert record.details["rejected_answer"] == "I would rather not."
    assert len(record.details["refusals"]) == 3
    assert upkeep.page.read_text() == PAGE
    upkeep.page.write_text("# M\n\n- small\n")
    talk(upkeep, "Talk")
    record = upkeep.run()
    assert (record.status, record.is_failure) == ("rejected", False)


def test_a_provider_that_is_busy_is_asked_later(upkeep: Upkeep) -> None:
    """Other failures are not."""
    upkeep.page.write_text(PAGE)
    upkeep.model.replies = [ModelFailed("script", "status 429: slow down")]
    record = upkeep.run()
    assert (record.status, record.is_failure, record.is_retryable) == ("failed", True, True)
    upkeep.model.replies = [ModelFailed("script", "the provider does not accept the key")]
    assert not upkeep.run().is_retryable
    assert upkeep.page.read_text() == PAGE


def test_an_edit_during_the_call_wins_and_the_task_starts_again(upkeep: Upkeep) -> None:
    """The second attempt reads the edit."""
    upkeep.page.write_text(PAGE)

    def edit_meanwhile(question: Question) -> str:
        upkeep.page.write_text(PAGE + "## Edited\n\n- by hand\n")
        return good_answer(question)

    upkeep.model.replies = [edit_meanwhile, good_answer]
    record = upkeep.run()
    assert record.status == "compacted"
    assert "by hand" in upkeep.page.read_text() + upkeep.journal()
    assert (
        find_violations(
            PAGE + "## Edited\n\n- by hand\n", upkeep.page.read_text(), upkeep.journal()
        )
        == []
    )
    assert upkeep.journal().count("### Archived") == 1


def test_a_run_that_is_begun_again_does_nothing_twice(upkeep: Upkeep) -> None:
    """A job that was stopped after its work finds it done, and says what was done."""
    upkeep.page.write_text(PAGE)
    upkeep.model.replies = [good_answer]
    first = upkeep.run(run_id="job-1", date="2026-04-17")
    page, journal = upkeep.page.read_text(), upkeep.journal()
    again = upkeep.run(run_id="job-1", date="2026-04-17")
    assert (first.status, again.status) == ("compacted", "compacted")
    assert again.details["new_size"] == first.details["new_size"]
    assert (upkeep.page.read_text(), upkeep.journal()) == (page, journal)
    assert len(upkeep.model.questions) == 1


def test_someone_who_keeps_editing_is_left_alone(upkeep: Upkeep) -> None:
    """After three attempts the run says so."""
    upkeep.page.write_text(PAGE)
    count = iter(range(100))

    def edit_meanwhile(question: Question) -> str:
        upkeep.page.write_text(f"{PAGE}## Edited\n\n- {next(count)}\n")
        return good_answer(question)

    upkeep.model.replies = [edit_meanwhile]
    record = upkeep.run()
    assert (record.status, record.is_retryable) == ("failed", True)
    assert upkeep.journal() == ""


@pytest.mark.parametrize(("size", "status"), [(32_768, "rejected"), (32_769, "overflow_split")])
def test_overflow_begins_above_the_threshold(upkeep: Upkeep, size: int, status: str) -> None:
    """Without asking a model, and even if none is set."""
    page = PAGE + "".join(f"- more {number} is here\n" for number in range(2000))
    upkeep.page.write_text(page[: size - 1] + "\n")
    upkeep.model.replies = ["no"]
    record = upkeep.run()
    assert record.details["original_size"] == size
    assert record.status == status
    assert bool(upkeep.model.questions) == (status == "rejected")


def test_overflow_without_a_model(upkeep: Upkeep) -> None:
    """The split needs none."""
    upkeep.configure(default_model="")
    upkeep.workspace._hooks.settings = upkeep.workspace.settings
    page = build_memory(random.Random(3), 60_000)
    upkeep.page.write_bytes(page.encode())
    record = upkeep.run(date="2026-04-17")
    assert record.status == "overflow_split"
    assert record.details["overflow_split"] is True
    assert record.details["new_size"] <= 8192
    assert "### Archived from oversized MEMORY.md" in upkeep.journal()
    assert (
        find_violations(
            page,
            upkeep.page.read_bytes().decode(),
            "".join(path.read_bytes().decode() for path in upkeep.days.rglob("*.md")),
        )
        == []
    )


def test_a_scheduled_run_belongs_to_the_day_that_just_closed(upkeep: Upkeep) -> None:
    """A run by hand belongs to today, and a date that is named counts."""
    day = 86_400
    yesterday = time.strftime("%Y-%m-%d", time.gmtime(upkeep.workspace.clock() - day))
    upkeep.page.write_text("# M\n")
    assert upkeep.run("schedule").details["date"] == yesterday
    assert upkeep.run("schedule", date="2026-01-02").details["date"] == "2026-01-02"
    assert upkeep.run().details["date"] == time.strftime(
        "%Y-%m-%d", time.gmtime(upkeep.workspace.clock())
    )


def test_a_page_that_is_no_text_fails_clearly(upkeep: Upkeep) -> None:
    """And stays as it is."""
    upkeep.page.write_bytes(b"\xff\xfe broken")
    record = upkeep.run()
    assert record.status == "failed"
    assert "UTF-8" in record.reason
    assert upkeep.page.read_bytes() == b"\xff\xfe broken"


def test_placeholders_in_the_memory_stay(upkeep: Upkeep) -> None:
    """The prompt is filled in one pass."""
    page = PAGE + "## Template\n\n- write {{date}} and {{memory_content}}\n"
    upkeep.page.write_text(page)
    upkeep.model.replies = [good_answer]
    upkeep.run(date="2026-04-17")
    prompt = upkeep.model.questions[0].messages[0].text
    assert "- write {{date}} and {{memory_content}}" in prompt
    assert not re.search(r"\{\{(max_size|activity_section)\}\}", prompt)


def test_every_outcome_has_one_of_six_names() -> None:
    """As the seeds and the issue name them."""
    assert STATUSES == ("skipped", "unchanged", "compacted", "overflow_split", "rejected", "failed")
