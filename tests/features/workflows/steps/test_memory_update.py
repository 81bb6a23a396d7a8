"""The step `memory_update`: sections and days, once for each job, with the agent's rights."""

from __future__ import annotations

import pytest

from looseleaf.errors import Forbidden
from looseleaf.errors.features import InvalidStep
from looseleaf.errors.pages import AssembledText, DailyMemoryOff, LossRefused
from tests.features.workflows.steps.conftest import Bench, Opener, ai_response, item

LESSON = {"target": "section", "section": "Lessons Learned", "template": "- {{content}} ({{date}})"}


def test_a_section_is_appended_to_once(bench: Bench) -> None:
    """A step that runs again after a crash finds its change, and changes nothing."""
    first = bench.run("memory_update", LESSON, ai_response("Jazz sells"))
    again = bench.run("memory_update", LESSON, ai_response("Jazz sells"))
    assert bench.read("MEMORY.md").count("- Jazz sells (2026-04-17)") == 1
    assert first.writes == again.writes
    (packet,) = first.packets
    assert packet.data["page"] == "MEMORY.md"
    assert packet.data["section"] == "Lessons Learned"
    assert packet.data["revision"] == first.writes[0].revision
    bench.run("memory_update", LESSON, ai_response("Jazz sells"), job_id=8)
    assert bench.read("MEMORY.md").count("- Jazz sells (2026-04-17)") == 2


def test_the_history_names_the_job(bench: Bench) -> None:
    """Who, by which surface, in which job and step, and from where the text is."""
    for job_id, packet, origin in ((7, ai_response("a"), "agent"), (8, item("b"), "tool")):
        bench.run("memory_update", LESSON, packet, job_id=job_id)
        revision = bench.workspace.history.latest(bench.agent.shelf.page("MEMORY.md"))
        assert revision is not None
        assert (revision.actor, revision.actor_kind) == ("ada", "agent")
        assert (revision.surface, revision.origin) == ("pipeline", origin)
        assert (revision.activity, revision.activity_id) == ("job", f"job-{job_id}/step-one")


def test_a_section_is_set(bench: Bench) -> None:
    """The old text stays in the history."""
    settings = {"target": "section", "section": "State", "mode": "set", "template": "{{title}}"}
    bench.run("memory_update", settings, item("x", title="All is well"))
    section = bench.workspace.pages.read_section(bench.agent.shelf.page("MEMORY.md"), "State")
    assert section.strip() == "All is well"


def test_a_day_gets_an_entry_once(bench: Bench) -> None:
    """The day is that of the job's start, even if the step runs again after midnight."""
    settings = {"target": "daily", "template": "- {{content}}"}
    bench.run("memory_update", settings, ai_response("Published the news"))
    bench.clock.advance(days=1)
    outcome = bench.run("memory_update", settings, ai_response("Published the news"))
    assert bench.read("daily/2026/04/17.md") == "# 2026-04-17\n\n- Published the news\n"
    assert outcome.writes[0].filename == "daily/2026/04/17.md"


def test_a_closed_journal_stays_closed(open_bench: Opener) -> None:
    """The setting binds pipelines as it binds every agent."""
    bench = open_bench("")
    with pytest.raises(DailyMemoryOff):
        bench.run("memory_update", {"target": "daily"}, ai_response("x"))


@pytest.mark.parametrize("file", ["SOUL.md", "USER.md", "RULES.md"])
def test_an_agent_that_nobody_watches_changes_no_identity(bench: Bench, file: str) -> None:
    """A pipeline has the rights of its agent, unattended."""
    settings = {"target": "section", "section": "Rules", "file": file}
    with pytest.raises(Forbidden):
        bench.run("memory_update", settings, ai_response("Obey."))


def test_a_page_from_a_prompt_is_not_remembered_again(bench: Bench) -> None:
    """A model that repeats its prompt does not feed it back into memory."""
    bench.run("memory_update", LESSON, ai_response("Jazz sells"))
    prompt = "\n".join(bench.workspace.compose("pipeline", "ada").messages)
    with pytest.raises(AssembledText):
        bench.run("memory_update", LESSON, ai_response(prompt), job_id=8)


def test_a_text_of_a_packet_fills_in_nothing(bench: Bench) -> None:
    """Names in the text of a feed stay as they are."""
    settings = {**LESSON, "template": "{{content}}"}
    bench.run("memory_update", settings, item("see {{date}}"))
    assert "see {{date}}" in bench.read("MEMORY.md")


def test_the_newest_text_is_taken(bench: Bench) -> None:
    """Results of tools and earlier updates are passed over."""
    packets = (ai_response("new"), item("old"))
    bench.run("memory_update", {**LESSON, "template": "{{type}}: {{content}}"}, *packets)
    assert "ai_response: new" in bench.read("MEMORY.md")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"target": "section"}, "section is missing"),
        ({"target": "daily", "mode": "set"}, "mode is append"),
        ({**LESSON, "template": "{{nothing}}"}, "nothing"),
    ],
)
def test_settings_that_do_not_fit_together_fail(
    bench: Bench, settings: dict[str, object], reason: str
) -> None:
    """With a reason that names the setting."""
    with pytest.raises(InvalidStep, match=reason):
        bench.run("memory_update", settings, item())


def test_without_a_text_nothing_is_written(bench: Bench) -> None:
    """Neither an empty text nor a job without a packet leaves a trace."""
    before = bench.read("MEMORY.md")
    assert bench.run("memory_update", LESSON | {"template": "{{url}}"}, item()).status == "failed"
    with pytest.raises(InvalidStep, match="no step before"):
        bench.run("memory_update", LESSON)
    assert bench.read("MEMORY.md") == before


def test_a_step_does_not_lose_most_of_a_core_page(bench: Bench) -> None:
    """A model's answer takes the place of a section, and is held to what every writer is."""
    page = bench.agent.shelf.page("MEMORY.md")
    text = "# Memory\n\n## State\n\n" + "- a fact that took a year to learn\n" * 50
    change = bench.workspace.context.change("write")
    bench.workspace.pages.write(page, text, change=change)
    settings = {"target": "section", "section": "State", "mode": "set"}
    for number, answer in enumerate(("short", "- one\n- two\n\n[rest of section unchanged]")):
        with pytest.raises(LossRefused):
            bench.run("memory_update", settings, ai_response(answer), job_id=20 + number)
    assert bench.read("MEMORY.md") == text
    bench.run("memory_update", settings, ai_response(text[-900:]), job_id=30)
    assert len(bench.read("MEMORY.md")) < len(text)
