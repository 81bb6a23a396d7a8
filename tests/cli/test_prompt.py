"""What an agent is given, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run


def test_show_prints_the_prompt(run: Run, root: Path) -> None:
    """As text, or as a provider takes it."""
    answer = run("prompt", "show", "--raw")
    assert answer.code == 0
    assert (root / "agents/main/SOUL.md").read_text() in answer.text
    messages = run("prompt", "show", "--format", "openai").json["messages"]
    assert "\n\n".join(one["content"] for one in messages) + "\n" == answer.text
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
    assert lines[0].split()[:4] == ["PRIORITY", "DIRECTIVE", "WHAT", "LAYER"]
    user = next(line for line in lines if "USER.md" in line)
    assert user.endswith("left out: policy deny")
    assert any(line.startswith("Stable beginning: 5 messages") for line in lines)
    document = run("prompt", "explain", "--format", "json").json
    rules = {one["name"]: one["rule"] for one in document["candidates"]}
    assert rules["USER.md"] == "policy_deny"
    assert rules["SOUL.md"] == "injected"
    assert document["tokenizer"] == "estimate"


def test_diff_names_the_first_byte_that_differs(run: Run) -> None:
    """And says so where there is none."""
    assert run("prompt", "diff").text.startswith("The prompts are the same: ")
    assert run("agents", "create", "bob").code == 0
    shown = run("prompt", "diff", "--agent", "main", "--to-agent", "bob").text
    assert "First difference: byte " in shown
    assert "in message 4 (SOUL.md)" in shown
    document = run("prompt", "diff", "--agent", "main", "--to-mode", "x", "--format", "json").json
    assert document["same"] is False or document["first"] is None
    assert run("prompt", "diff", "--agent", "main", "--as-of", "3").code == 2


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
