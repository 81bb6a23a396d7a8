"""The step `ai`: what the model is told, its tools, and a turn that a killed process left."""

from __future__ import annotations

import json

import pytest

from looseleaf.errors.features import InvalidStep
from looseleaf.errors.operations import ModelMissing
from looseleaf.features.chat.session import Opening, chats_of
from looseleaf.features.workflows.definitions import QueuedPrompt
from looseleaf.features.workflows.jobs.effects import note_changes
from looseleaf.features.workflows.jobs.queue import JobFilter
from looseleaf.features.workflows.parts import definitions_of, jobs_of
from looseleaf.features.workflows.step import StepRun
from looseleaf.features.workflows.steps.ai import MOST_CHARACTERS, create_messages
from looseleaf.memory.store import Change
from looseleaf.models.model import Message, ToolCall
from looseleaf.values import replace
from tests.features.workflows.steps.conftest import Bench, Opener, item

JOURNAL = '/call agent_daily_memory {"action": "write", "content": "- News published"}'


def queue(bench: Bench, mode: str, *prompts: str) -> None:
    """Add a queue of prompts to the flow."""
    queued = tuple(QueuedPrompt(prompt) for prompt in prompts)
    flows = definitions_of(bench.workspace).flows
    flows.change(bench.flow.id, lambda flow: replace(flow, queue_mode=mode, prompt_queue=queued))


def test_the_model_answers_the_packets_and_the_prompt(bench: Bench) -> None:
    """The echo says the prompt again; tokens are counted, the model and a title are named."""
    outcome = bench.run("ai", {"prompt": "# Jazz today\nIt is fine."}, item("source"))
    (packet,) = outcome.packets
    assert packet.data["content"] == "# Jazz today\nIt is fine."
    assert packet.data["title"] == "Jazz today"
    assert packet.data["model"] == "echo"
    assert outcome.usage.requests == 1
    assert outcome.usage.input_tokens > 10
    assert outcome.artifacts == ()


def test_without_a_prompt_the_packets_are_all_the_model_gets(bench: Bench) -> None:
    """They come as JSON, newest first; the title is that of the newest item."""
    packets = (item("new", title="T"), item("old"))
    (packet,) = bench.run("ai", {}, *packets).packets
    told = json.loads(packet.data["content"])
    assert [entry["data"]["content"] for entry in told["data_packets"]] == ["new", "old"]
    assert packet.data["title"] == "T"


def test_nothing_to_say_is_an_error(bench: Bench) -> None:
    """Neither a packet nor a prompt."""
    with pytest.raises(InvalidStep, match="neither a packet nor a prompt"):
        bench.run("ai", {})


def test_prompts_are_taken_from_the_queue_by_its_mode(bench: Bench) -> None:
    """Static keeps its head, drain empties, loop goes round; a repeated step takes none twice."""
    queue(bench, "static", "a", "b")
    assert [bench.run("ai", {}, job_id=n).packets[0].data["content"] for n in (1, 2)] == ["a", "a"]
    queue(bench, "drain", "a", "b")
    answers = [bench.run("ai", {}, job_id=n).packets[0].data["content"] for n in (3, 3, 4)]
    assert answers == ["a", "a", "b"]
    assert bench.run("ai", {"prompt": "x"}, job_id=5).status == "no_items"
    queue(bench, "loop", "a", "b")
    answers = [bench.run("ai", {}, job_id=n).packets[0].data["content"] for n in (6, 7, 8)]
    assert answers == ["a", "b", "a"]


def test_tools_run_as_the_agent_and_are_on_record(bench: Bench) -> None:
    """A write of the journal: the page, the packets, the trace and the history name the job."""
    outcome = bench.run("ai", {"prompt": JOURNAL})
    response, tool = outcome.packets
    assert response.type == "ai_response"
    assert response.metadata["tools"] == ["agent_daily_memory"]
    assert tool.data["tool_name"] == "agent_daily_memory"
    assert tool.data["success"] is True
    assert tool.data["arguments"]["content"] == "- News published"
    (write,) = outcome.writes
    assert (write.layer, write.filename) == ("agent", "daily/2026/04/17.md")
    assert outcome.artifacts == ("datamachine://jobs/7/artifacts/tool-trace/one",)
    assert bench.read("daily/2026/04/17.md") == "# 2026-04-17\n\n- News published\n"
    revision = bench.workspace.history.latest(bench.agent.shelf.page("daily/2026/04/17.md"))
    assert revision is not None
    assert revision.activity_id.startswith("job-7/step-one/")
    assert (revision.actor, revision.surface) == ("ada", "pipeline")
    assert "calls agent_daily_memory" in bench.progress


def test_a_turn_that_ended_is_not_taken_again(bench: Bench) -> None:
    """A process that dies before the outcome is recorded finds the turn in the database."""
    first = bench.run("ai", {"prompt": JOURNAL})
    again = bench.run("ai", {"prompt": JOURNAL})
    assert again.packets == first.packets
    assert again.writes == first.writes
    assert bench.read("daily/2026/04/17.md").count("News published") == 1


def leave_call(bench: Bench, call: str = JOURNAL) -> StepRun:
    """Leave a turn as a process does that dies when it has saved the call of a tool."""
    run = bench.step_run("ai", {"prompt": call})
    chats = chats_of(bench.workspace)
    opening = Opening(
        session="",
        owner=1,
        agent=bench.agent.id,
        mode="pipeline",
        message=Message(role="user", text=call),
        title="News",
        request=run.effect_key,
        model="echo",
    )
    begun = chats.turns.begin(replace(opening, source="pipeline"))
    assert begun.lease is not None
    tool, _, arguments = call.removeprefix("/call ").partition(" ")
    calls = (ToolCall("echo-1", tool, arguments),)
    chats.turns.append(begun.lease, (Message(role="assistant", text="", calls=calls),))
    bench.clock.advance(seconds=3600)  # the lease of the dead process is over
    return run


def call_change(run: StepRun, key: str) -> Change:
    """Make the change of a call of a tool."""
    change = run.parts.change(run, "append", origin="agent")
    activity = replace(change.provenance.activity, id=key)
    return replace(change, provenance=replace(change.provenance, activity=activity))


def test_a_call_of_a_killed_process_is_found_in_the_history(bench: Bench) -> None:
    """The page was changed, and its result was not saved: the model is told, and asks no more."""
    run = leave_call(bench)
    page = bench.agent.shelf.page("daily/2026/04/17.md")
    change = call_change(run, f"{run.effect_key}/echo1")
    bench.workspace.pages.append(page, "- News published", change=change)
    outcome = bench.run("ai", {"prompt": JOURNAL})
    assert bench.read("daily/2026/04/17.md").count("News published") == 1
    assert outcome.packets[1].data["success"] is True
    assert len(outcome.writes) == 1


def test_a_call_of_a_killed_process_is_found_by_its_intent(bench: Bench) -> None:
    """The process died after the page was replaced and before the history had the change."""
    run = leave_call(bench)
    page = bench.agent.shelf.page("daily/2026/04/17.md")
    pages = note_changes(bench.workspace.pages, bench.intents, f"{run.effect_key}/echo1")
    pages.append(page, "- News published", change=call_change(run, "another key"))
    outcome = bench.run("ai", {"prompt": JOURNAL})
    assert bench.read("daily/2026/04/17.md").count("News published") == 1
    assert len(outcome.writes) == 1


def test_a_call_that_was_never_made_is_made_now(bench: Bench) -> None:
    """The process died between the answer of the model and the tool, with an intent or without."""
    run = leave_call(bench)
    page = bench.agent.shelf.page("daily/2026/04/17.md")
    bench.intents.note(f"{run.effect_key}/echo1", page.key, "the hash of a text nobody wrote")
    outcome = bench.run("ai", {"prompt": JOURNAL})
    assert bench.read("daily/2026/04/17.md").count("News published") == 1
    assert len(outcome.writes) == 1
    again = bench.run("ai", {"prompt": JOURNAL})
    assert again.writes == outcome.writes


def test_a_call_with_another_effect_is_not_made_again(bench: Bench) -> None:
    """Nobody knows whether the process that died has made it: the model is told so."""
    call = '/call execute_workflow {"flow": "daily"}'
    leave_call(bench, call)
    outcome = bench.run("ai", {"prompt": call})
    assert outcome.packets[1].data["success"] is False
    assert jobs_of(bench.workspace).jobs.list(JobFilter())[1] == 0


def test_a_turn_of_which_only_the_first_message_was_saved_gets_the_rest(bench: Bench) -> None:
    """The prompt follows the packets in a second message."""
    run = bench.step_run("ai", {"prompt": JOURNAL}, (item("source"),))
    first = create_messages(run.packets, JOURNAL)[0]
    opening = Opening(
        session="",
        owner=1,
        agent=bench.agent.id,
        mode="pipeline",
        message=first,
        title="News",
        request=run.effect_key,
        model="echo",
    )
    assert chats_of(bench.workspace).turns.begin(replace(opening, source="pipeline")).lease
    bench.clock.advance(seconds=3600)
    outcome = bench.run("ai", {"prompt": JOURNAL}, item("source"))
    assert len(outcome.writes) == 1


def test_a_step_chooses_among_the_tools_of_the_policy(bench: Bench) -> None:
    """A tool that the step leaves out is denied, and the model is told so."""
    for number, settings in enumerate(
        ({"disabled_tools": ["agent_daily_memory"]}, {"enabled_tools": ["agent_memory"]}), 1
    ):
        outcome = bench.run("ai", {"prompt": JOURNAL, **settings}, job_id=number)
        assert outcome.packets[1].data["success"] is False
        assert outcome.writes == ()


def test_a_transcript_is_kept_where_it_is_wanted(open_bench: Opener) -> None:
    """The step decides, then the setting; secrets of the settings stand in no transcript."""
    bench = open_bench(
        'default_model = "echo"\npipeline_transcripts = true\n'
        '[wordpress_sites.blog]\nurl = "https://blog.test"\npassword = "correct horse battery"\n'
    )
    kept = bench.run("ai", {"prompt": "the word is correct horse battery"})
    assert kept.artifacts == ("datamachine://jobs/7/artifacts/transcript/one",)
    file = bench.root / ".looseleaf/artifacts/job-7/transcript+one.json"
    transcript = json.loads(file.read_bytes())
    assert [entry["role"] for entry in transcript["messages"]] == ["user", "assistant"]
    assert "correct horse" not in file.read_text()
    (meta,) = kept.packets[0].metadata["artifact_files"]
    assert meta["bytes"] == file.stat().st_size
    settings = {"prompt": "x", "persist_transcripts": False}
    assert bench.run("ai", settings, job_id=8).artifacts == ()


def test_a_cancelled_turn_is_no_answer(bench: Bench) -> None:
    """The job that asked for it ends; nothing is taken for an answer."""
    bench.cancelled = True
    outcome = bench.run("ai", {"prompt": "a b c"})
    assert outcome.status == "failed"


def test_a_workspace_without_a_model_says_where_to_name_one(open_bench: Opener) -> None:
    """The error is that of a conversation."""
    with pytest.raises(ModelMissing):
        open_bench("").run("ai", {"prompt": "x"})


def test_the_oldest_packets_are_left_out_where_there_is_too_much() -> None:
    """The newest packet stays, however long."""
    long = item("x" * (MOST_CHARACTERS + 1))
    (message,) = create_messages((long, item("old")), "")
    assert len(json.loads(message.text)["data_packets"]) == 1
    assert create_messages((), " ") == ()
