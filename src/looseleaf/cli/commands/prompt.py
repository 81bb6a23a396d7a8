"""`looseleaf prompt …` and `looseleaf tools …`: what a model is given, and by which rules."""

from __future__ import annotations

import json
import os
import select
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import click

from looseleaf.catalog.model_tools import FORMATS, declare_tools, list_all_tools
from looseleaf.catalog.resolution import agent_of
from looseleaf.catalog.tool_access import GIVEN
from looseleaf.cli.arguments import (
    SharedOptions,
    complete_agents,
    require_local,
    with_shared_options,
)
from looseleaf.cli.command_line import Group, command
from looseleaf.cli.derived_commands import Derivation
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.output import complain, say, show
from looseleaf.errors import LooseleafError, WorkspaceMissing, WorkspaceUnavailable
from looseleaf.prompt import formats
from looseleaf.prompt.reports import INJECTED
from looseleaf.settings import find_folder, find_project_agent, read_variable

if TYPE_CHECKING:
    from io import BufferedReader
    from typing import Any

    from looseleaf.operations.prompt import Checked
    from looseleaf.prompt.reports import (
        Candidate,
        Explanation,
        Overrun,
        Prefix,
        PromptComparison,
        ToolCandidate,
    )


def select_mode(mode: str | None, workflow: dict[str, Any]) -> str:
    """Return the mode of a prompt: the named one, else pipeline for a workflow, else chat."""
    is_workflow = workflow["pipeline"] is not None or workflow["flow"] is not None
    default = "pipeline" if is_workflow else "chat"
    return default if mode is None else mode


def _select(arguments: dict[str, Any], given: dict[str, Any]) -> None:
    """Select the mode of a prompt, and the host of a hook."""
    arguments["mode"] = select_mode(given["mode"], given)
    if given.get("hook"):
        arguments.setdefault("host", "any")


Parameters = dict[str, str | click.Parameter | None]
OWNER_OPTIONS = ("agent", "user")
_AS_OF = "The pages as they were then, in UTC."
_HOST = "The program that reads the hook; each counts characters in its own way."
_MODE = "chat, pipeline, system or your own; else chat."
_BY_FOLDER = "The agent of the folder, by [projects]; silent if its project has a hook."
_LIMIT = "The limit of the host; else hook_characters of the settings."
_SELECTION: Parameters = {
    "mode": click.Option(["--mode"], metavar="MODE", help=_MODE),
    "pipeline": "--pipeline PIPELINE: The prompt of a pipeline.",
    "flow": "--flow FLOW: The prompt of a flow.",
    "step": "--step ID: The step; else the first ai step.",
}
_HOOK: Parameters = {
    "hook": click.Option(["--hook"], is_flag=True, help="The output of a hook for a coding agent."),
    "host": click.Option(["--host"], type=click.Choice(formats.HOSTS), help=_HOST),
    "max_characters": f"--max-characters N: {_LIMIT}",
}
_prompt = Derivation("prompt", "looseleaf.operations.prompt")


@command(
    "show",
    "looseleaf prompt show",
    "looseleaf prompt show --agent ada --mode pipeline --format anthropic",
    "looseleaf prompt show --hook session-start",
)
@click.option("--mode", metavar="MODE", help=_MODE)
@click.option("--as-of", default="", metavar="TIME", help=_AS_OF)
@click.option("--deny", multiple=True, metavar="FILE", help="Leave a page out; repeat.")
@click.option("--allow-only", multiple=True, metavar="FILE", help="Give only this page; repeat.")
@click.option("--pipeline", metavar="PIPELINE", help="The prompt of a pipeline.")
@click.option("--flow", metavar="FLOW", help="The prompt of a flow.")
@click.option("--step", default="", metavar="ID", help="The step; else the first ai step.")
@click.option(
    "--format", "shape", type=click.Choice(formats.FORMATS), default="text", help="Else text."
)
@click.option(
    "--hook", type=click.Choice(formats.HOOKS), help="The output of a hook for a coding agent."
)
@click.option("--host", type=click.Choice(formats.HOSTS), help=_HOST)
@click.option("--max-characters", type=int, default=0, metavar="N", help=_LIMIT)
@click.option("--by-folder", is_flag=True, help=_BY_FOLDER)
@click.option("--raw", is_flag=True, help="Exactly the text, on a terminal too.")
@with_shared_options(*OWNER_OPTIONS)
def show_prompt(  # noqa: PLR0913 - one for each option
    options: SharedOptions,
    *,
    mode: str | None,
    as_of: str,
    deny: tuple[str, ...],
    allow_only: tuple[str, ...],
    shape: str,
    hook: str | None,
    host: str | None,
    max_characters: int,
    by_folder: bool,
    raw: bool,
    **workflow: Any,  # noqa: ANN401 - the options of a workflow
) -> None:
    """Print the prompt of an agent.

    With --hook, prints the JSON that coding agents read when a session starts, within their limit;
    it names the pages that do not fit. A failure is reported in that JSON, too, and the session
    starts without memory.
    """
    from looseleaf.operations import prompt as operations

    def compose(shape: str) -> dict[str, Any]:
        prompt = operations.compose_prompt(
            options.open(),
            select_mode(mode, workflow),
            where=options.where,
            as_of=as_of,
            format=shape,
            deny=deny,
            allow_only=allow_only or None,
            host=host or "",
            max_characters=max_characters,
            **workflow,
        )
        return {**prompt}

    if hook:
        options.patience = options.patience or _MOST_SECONDS
        try:
            document = {}
            if not by_folder or _choose_agent(options, host or ""):
                document = compose("hook")
        except (LooseleafError, OSError) as error:
            # A memory that is away must not stop its host: a line for the person, exit code 0.
            away = isinstance(error, WorkspaceMissing | WorkspaceUnavailable)
            document = {"systemMessage": f"looseleaf: {error}{_MOVED if away else ''}"}
        # On one line: the limit of a host counts the indentation, too.
        print_document(document, indent=None)
    elif shape == "text":
        show(compose(shape)["text"].encode() + b"\n", exact=raw)
    else:
        print_document(compose(shape))


def _choose_agent(options: SharedOptions, host: str) -> bool:
    """Choose the agent of the session's folder; return False if its project's own hook speaks."""
    from looseleaf.mcp.clients.status import has_project_hook

    folder = _read_session_folder(host)
    if has_project_hook(host, folder):
        return False
    if not options.server:  # whose address names the agent, in the server's entry too
        agent = find_project_agent(options.workspace().settings.projects, folder)
        options.agent = agent or options.agent
    return True


_MOVED = " If it was moved: looseleaf mcp install again, with --root."
_MOST_SECONDS = 10.0  # that a session waits for a server
_MOST_INPUT = 1_000_000  # bytes
_SECONDS = 2  # a host that has nothing to say may leave the pipe open


def _read_session_folder(host: str) -> str:
    """Return the folder that a session was started in, as its program tells the hook.

    After `cd` in a session of Claude Code, `cwd` is another folder; its server stays where it was.
    """
    if host == "claude-code" and (start := read_variable("CLAUDE_PROJECT_DIR")):
        return start
    document: object = None
    if sys.stdin is not None and not sys.stdin.isatty():
        document = _read_hook_input()
    folder = document.get("cwd") if isinstance(document, dict) else None
    return folder if isinstance(folder, str) and os.path.isabs(folder) else find_folder()


def _read_hook_input() -> object:
    """Read the JSON that a program hands to a hook; it need not close the pipe after it."""
    stream = cast("BufferedReader", sys.stdin.buffer)
    text = b""
    while len(text) < _MOST_INPUT and _has_input():
        part = stream.read1()
        if not part:
            break
        text += part
        with suppress(ValueError):
            return json.loads(text)
    return None


def _has_input() -> bool:
    try:
        return bool(select.select([sys.stdin.buffer], [], [], _SECONDS)[0])
    except (OSError, ValueError):
        return True  # no file of the system, so that reading it does not wait


@_prompt.shown(
    "explain",
    "explain_prompt",
    "",
    "--agent ada --mode system --format json",
    "--pipeline daily-music-news --flow morning",
    parameters={
        **_SELECTION,
        **_HOOK,
        "as_of": f"--as-of TIME: {_AS_OF}",
        "deny": "--deny FILE: Leave a page out; repeat.",
        "allow_only": "--allow-only FILE: Give only this page; repeat.",
    },
    shared=(*OWNER_OPTIONS, "format"),
    prepare=_select,
)
def explain_prompt(explanation: Explanation) -> None:
    """List the parts of a prompt, and the rule that decided each.

    Every page and directive in order: given or left out, its size, and its last change.
    """
    rows: list[tuple[object, ...]] = []
    directive = ""
    for candidate in explanation.candidates:
        heading = f"{candidate.priority} {candidate.directive}"
        if candidate.directive not in (directive, candidate.name):
            rows.append((heading, *[""] * 5))
        directive = candidate.directive
        layer = f" ({candidate.layer})" if candidate.layer else ""
        label = heading if candidate.name == candidate.directive else f"   {candidate.name}{layer}"
        sizes = (
            f"{candidate.bytes:,}",
            f"{candidate.comments:,}" if candidate.comments else "",
            f"{candidate.tokens:,}",
        )
        rows.append(
            (label, *sizes, _format_status(candidate, explanation), _format_change(candidate))
        )
    headers = ("WHAT", "BYTES", "COMMENTS", "TOKENS", "STATUS", "CHANGED")
    print_table(headers, rows, shrink="CHANGED", right=("BYTES", "COMMENTS", "TOKENS"))
    say(_format_total(explanation))
    say(f"Stable beginning: {_format_prefix(explanation.stable)}")
    if explanation.comments:
        say(f"Comments left out: {format_count(explanation.comments, 'byte')}.")
    for candidate in explanation.candidates:
        if candidate.detail:
            say(f"{candidate.name}: {candidate.detail}")
    for tool in explanation.tools:
        say(f"Tool {tool.name}: {_format_tool_status(tool)}")


def _format_tool_status(tool: ToolCandidate) -> str:
    if tool.rule != GIVEN:
        return f"left out: {tool.rule.replace('_', ' ')}"
    return f"given ({', '.join(tool.actions)})" if tool.actions else "given"


def _format_status(candidate: Candidate, explanation: Explanation) -> str:
    if candidate.rule != INJECTED:
        return f"left out: {candidate.rule.replace('_', ' ')}"
    return f"{INJECTED} in part" if candidate.name in explanation.truncated else INJECTED


def _format_change(candidate: Candidate) -> str:
    by = f" by {candidate.by}" if candidate.by else ""
    return f"{candidate.changed}{by}" if candidate.rule == INJECTED else ""


def _format_total(explanation: Explanation) -> str:
    size = f"{format_count(explanation.bytes, 'byte')}, {format_count(explanation.words, 'word')}"
    tokens = f"{format_count(explanation.tokens, 'token')} ({explanation.tokenizer})"
    messages = format_count(explanation.messages, "message")
    return f"Agent {explanation.agent}, mode {explanation.mode}: {messages}, {size}, {tokens}."


def _format_prefix(prefix: Prefix) -> str:
    parts = (
        format_count(prefix.messages, "message"),
        format_count(prefix.bytes, "byte"),
        format_count(prefix.tokens, "token"),
    )
    return f"{', '.join(parts)}, sha256 {prefix.hash[:16]}"


def _select_both(arguments: dict[str, Any], given: dict[str, Any]) -> None:
    _select(arguments, given)
    other = {name: given[f"to_{name}"] for name in _SIDE}
    arguments["other"] = {name: text for name, text in other.items() if text is not None}


_SIDE = {
    "mode": ("MODE", "Compare with this mode."),
    "agent": ("ID|SLUG", "Compare with this agent."),
    "as_of": ("TIME", "Compare with the pages at this time."),
    "pipeline": ("PIPELINE", 'Compare with this pipeline; "" for none.'),
    "flow": ("FLOW", "Compare with this flow."),
    "step": ("ID", "Compare with this step; else the first."),
}


@_prompt.shown(
    "diff",
    "diff_prompts",
    "--as-of 2026-04-16",
    "--agent ada --to-agent bob",
    "--mode chat --to-mode pipeline",
    "--pipeline daily-music-news --to-flow daily-music-news/morning",
    parameters={
        **_SELECTION,
        "as_of": f"--as-of TIME: {_AS_OF}",
        "other": None,
        **{
            f"to_{name}": click.Option(
                [f"--to-{name.replace('_', '-')}"],
                metavar=metavar,
                help=text,
                shell_complete=complete_agents if name == "agent" else None,
            )
            for name, (metavar, text) in _SIDE.items()
        },
    },
    shared=(*OWNER_OPTIONS, "format"),
    prepare=_select_both,
)
def diff_prompts(comparison: PromptComparison) -> None:
    """Compare two prompts and name the first byte that differs.

    The prompts are of two times, agents, modes, pipelines or flows. A provider's cache can be used
    up to that byte.
    """
    if comparison.same:
        size = format_count(comparison.bytes[0], "byte")
        say(f"The prompts are the same: {size}, {comparison.hash[0][:16]}.")
    else:
        _print_difference(comparison)


def _print_difference(comparison: PromptComparison) -> None:
    rows = [
        (
            change.kind,
            change.directive,
            change.name,
            change.layer,
            *change.bytes,
            _format_rules(change.rule),
        )
        for change in comparison.differences
        if change.kind != "same"
    ]
    headers = ("CHANGE", "DIRECTIVE", "WHAT", "LAYER", "BEFORE", "AFTER", "RULE")
    print_table(headers, rows, shrink="RULE")
    message = f"message {comparison.message} ({comparison.name})"
    location = f"{message}, line {comparison.line}, column {comparison.column}"
    say(f"First difference: byte {comparison.first}, in {location}.")
    say(f"  before: {comparison.before!r}")
    say(f"  after:  {comparison.after!r}")
    say(f"In common: {_format_prefix(comparison.common)}")
    old, new = (f"{count:,}" for count in comparison.tokens)
    say(f"Tokens ({comparison.tokenizer}): {old} before, {new} after.")


def _format_rules(rules: tuple[str, str]) -> str:
    before, after = (rule.replace("_", " ") or "not there" for rule in rules)
    return before if before == after else f"{before} → {after}"


@_prompt.shown(
    "check",
    "check_prompt",
    "",
    "--max-tokens 8000",
    parameters={
        **_SELECTION,
        **_HOOK,
        "max_bytes": "--max-bytes N: For the whole prompt.",
        "max_tokens": "--max-tokens N: For the whole prompt.",
    },
    shared=(*OWNER_OPTIONS, "format"),
    prepare=_select,
    failed=lambda result: not result.fits,
)
def check_prompt(result: Checked) -> None:
    """Check a prompt against its budgets, and its pages.

    The budgets are those of its pages, of the agent, of the settings and of this command; with
    --hook, also the limit of a hook's output. Pages must be readable, without conflict markers,
    and without conflicting copies beside them. Exits with 1 if something is wrong, so that a build
    can stop.
    """
    tokens = f"{format_count(result.tokens, 'token')} ({result.tokenizer})"
    say(f"The prompt has {format_count(result.bytes, 'byte')}, {tokens}.")
    for overrun in result.overruns:
        complain(_format_overrun(overrun))
    if result.host:
        usage = f"{result.characters:,} of {result.max_characters:,} characters"
        say(f"The hook's output takes {usage}, as {_HOST_NAMES[result.host]} counts.")
        for names, verb in (
            (result.truncated, "gives only a part of"),
            (result.omitted, "leaves out"),
        ):
            if names:
                complain(
                    f"The hook {verb} {', '.join(names)}: shorten pages, or move text to others."
                )
    for problem in result.problems:
        complain(f"{problem.detail.rstrip('.')}. {problem.advice}")


_HOST_NAMES = {
    "any": "the strictest host",
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "OpenCode",
}


def _format_overrun(overrun: Overrun) -> str:
    subject = f"{overrun.name} ({overrun.layer})" if overrun.name else "The prompt"
    return f"{subject} has {overrun.size:,} {overrun.unit}, and may have {overrun.limit:,}."


@command(
    "export",
    "looseleaf tools export --format openai",
    "looseleaf tools export --agent ada --format anthropic",
)
@click.option("--format", "shape", type=click.Choice(FORMATS), default="json", help="The format.")
@with_shared_options("agent")
def export_tools(options: SharedOptions, shape: str) -> None:
    """Print every tool as JSON.

    With --agent, only the tools that the agent's policy allows.
    """
    require_local(
        options, "a server offers its tools itself, at /mcp and /wp-abilities/v1/abilities"
    )
    context = options.open()
    agent = agent_of(context, options.agent) if options.agent else None
    print_document({"tools": declare_tools(list_all_tools(context, agent), shape)})


prompt_group = Group(
    "prompt",
    "The prompt of an agent: how memory reaches a model, and by which rules.",
    *(show_prompt, explain_prompt, diff_prompts, check_prompt),
)
tools_group = Group("tools", "The tools that models may use.", export_tools)
