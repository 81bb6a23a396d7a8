"""What an agent is given, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from looseleaf.memory.comments import without_comments
from tests.cli.fixtures import Run


def test_show_prints_the_prompt(run: Run, root: Path) -> None:
    """As text, or as a provider takes it."""
    answer = run("prompt", "show", "--raw")
    assert answer.code == 0
    assert without_comments((root / "agents/main/SOUL.md").read_text()) in answer.text
    messages = run("prompt", "show", "--format", "openai").json["messages"]
    assert "\n\n".join(message["content"] for message in messages) + "\n" == answer.text
    assert run("prompt", "show", "--format", "anthropic").json["system"]
    assert run("prompt", "show", "--format", "json").json["mode"] == "chat"


def test_show_can_be_narrowed(run: Run) -> None:
    """For this call alone."""
    shown = run("prompt", "show", "--deny", "SOUL.md", "--deny", "USER.md").text
    assert 'file="SOUL.md"' not in shown
    assert 'file="MEMORY.md"' in shown
    only = run("prompt", "show", "--allow-only", "SOUL.md").text
    assert only.count("<page file=") == 1


def test_a_hook_prints_what_a_coding_agent_reads(run: Run) -> None:
    """And a failure as a message to the person, never as a session that does not start."""
    output = run("prompt", "show", "--hook", "session-start").json["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    assert "SOUL.md" in output["additionalContext"]
    failed = run("prompt", "show", "--hook", "session-start", "--agent", "nobody")
    assert failed.code == 0
    assert "There is no agent 'nobody'" in failed.json["systemMessage"]


def test_explain_lists_every_candidate(run: Run) -> None:
    """With the rule and the size, for people and programs."""
    run("agents", "configure", "main", 'memory_policy={"mode": "deny", "deny": ["USER.md"]}')
    lines = run("prompt", "explain").text.splitlines()
    assert lines[0].split() == ["WHAT", "BYTES", "COMMENTS", "TOKENS", "STATUS", "CHANGED"]
    user = next(line for line in lines if "USER.md (user)" in line)
    assert user.endswith("left out: policy deny")
    soul = next(line for line in lines if "SOUL.md (agent)" in line).split()
    assert int(soul[3]) > 300
    assert any(
        line.startswith("daily-memory: off for this agent; to switch it on:") for line in lines
    )
    assert any(line.startswith("Comments left out: ") for line in lines)
    assert any(line.startswith("Stable beginning: 4 messages") for line in lines)
    document = run("prompt", "explain", "--format", "json").json
    rules = {candidate["name"]: candidate["rule"] for candidate in document["candidates"]}
    assert rules["USER.md"] == "policy_deny"
    assert rules["SOUL.md"] == "injected"
    assert document["tokenizer"] == "estimate"


def test_diff_names_the_first_byte_that_differs(run: Run) -> None:
    """And says so if there is none."""
    assert run("prompt", "diff").text.startswith("The prompts are the same: ")
    assert run("agents", "create", "bob").code == 0
    shown = run("prompt", "diff", "--agent", "main", "--to-agent", "bob").text
    assert "First difference: byte " in shown
    assert "in message 3 (SOUL.md)" in shown
    document = run("prompt", "diff", "--agent", "main", "--to-mode", "x", "--format", "json").json
    assert document["same"] is False or document["first"] is None
    assert run("prompt", "diff", "--agent", "main", "--as-of", "3").code == 2


def test_diff_compares_workflows(run: Run) -> None:
    """A pipeline with its flow, and with none; a flow is a prompt in the mode pipeline."""
    assert run("memory", "write", "morning.md", "--page", "Coffee first.").code == 0
    assert run("pipelines", "create", "News", "--prompt", "Write the news.").code == 0
    assert run("flows", "create", "news", "Morning", "--memory-file", "morning.md").code == 0
    assert run("prompt", "diff", "--flow", "morning").text.startswith("The prompts are the same")
    shown = run("prompt", "diff", "--pipeline", "news", "--to-flow", "morning").text
    assert "added" in shown
    assert "morning.md" in shown
    none = run("prompt", "diff", "--flow", "morning", "--to-pipeline", "").text
    assert "removed" in none
    in_chat = run("prompt", "diff", "--to-flow", "morning", "--format", "json").json
    assert "added" in {
        difference["kind"]
        for difference in in_chat["differences"]
        if difference["name"] == "morning.md"
    }
    assert run("prompt", "diff", "--flow", "morning", "--to-pipeline", "gone").code == 3


def test_explain_fits_a_terminal(run: Run) -> None:
    """What decides stands within eighty columns; who changed a page may be shortened."""
    for line in run("prompt", "explain").text.splitlines():
        if line.startswith(("   ", "10 ", "20 ", "35 ")):
            assert len(line.partition("2026-")[0].partition("2096-")[0].rstrip()) <= 80


def test_a_hook_that_cannot_give_all_says_so(run: Run, root: Path) -> None:
    """To the model, to the person, and to who checks."""
    (root / "agents/main/MEMORY.md").write_text("- A fact that matters.\n" * 700)
    answer = run("prompt", "show", "--hook", "session-start", "--host", "claude-code")
    assert len(answer.text) <= 10_000
    assert "[Not all of your memory fits here. In part: MEMORY.md (" in answer.text
    assert "prompt check --hook" in answer.json["systemMessage"]
    assert run("prompt", "check").code == 1  # its own budgets
    check = run("prompt", "check", "--hook", "--max-characters", "5000")
    assert check.code == 1
    assert "of 5,000 characters" in check.text
    assert "The hook gives only a part of MEMORY.md" in check.err
    explained = run("prompt", "explain", "--hook").text
    assert "injected in part" in explained
    assert run("prompt", "check", "--hook", "--max-characters", "10").code == 2


def test_a_check_names_pages_that_cannot_be_given(run: Run, root: Path) -> None:
    """And second versions that lie beside them."""
    (root / "agents/main/MEMORY.md").write_bytes(b"caf\xe9")
    (root / "agents/main/SOUL (conflicted copy 2026-04-17).md").write_text("x")
    check = run("prompt", "check")
    assert check.code == 1
    assert "MEMORY.md is not UTF-8 text (byte 3)" in check.err
    assert "looks like a second version of SOUL.md" in check.err
    kinds = [
        problem["kind"] for problem in run("prompt", "check", "--format", "json").json["problems"]
    ]
    assert kinds == ["not_text", "conflicting_copy"]


def test_check_has_an_exit_code(run: Run) -> None:
    """For a build to stop on."""
    assert run("prompt", "check").code == 0
    over = run("prompt", "check", "--max-bytes", "100")
    assert over.code == 1
    assert "The prompt has" in over.err
    document = json.loads(run("prompt", "check", "--max-tokens", "1", "--format", "json").out)
    assert document["fits"] is False
    assert document["overruns"][0]["unit"] == "tokens"


def test_a_mode_that_cannot_be_is_an_error(run: Run) -> None:
    """Never a prompt without rules."""
    for command in ("show", "explain", "diff", "check"):
        assert run("prompt", command, "--mode", "all").code == 2
