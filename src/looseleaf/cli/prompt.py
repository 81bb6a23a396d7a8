"""`looseleaf prompt show | explain | diff`: what an agent is given, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import Asked, complete_agents, shared
from looseleaf.cli.formats import counted, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.hook_options import chosen_host, hook_options, host_option, room_option
from looseleaf.cli.output import say, show
from looseleaf.errors import LooseleafError
from looseleaf.operations import prompt as operations
from looseleaf.prompt import formats
from looseleaf.prompt.explain import INJECTED
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.prompt.compare import Comparison
    from looseleaf.prompt.explain import Candidate, Explanation, Prefix

    Function = Callable[..., object]

mode_option = click.option(
    "--mode", default="chat", metavar="MODE", help="chat, pipeline, system or your own; else chat."
)
as_of_option = click.option(
    "--as-of", default="", metavar="TIME", help="Of the pages as they were, in UTC."
)
WHOSE = ("agent", "user")


def narrowing(function: Function) -> Function:
    """Give a command the options that narrow one request."""
    deny = click.option("--deny", multiple=True, metavar="FILE", help="Leave a page out; repeat.")
    allow = click.option(
        "--allow-only", multiple=True, metavar="FILE", help="Give no page but this; repeat."
    )
    return deny(allow(function))


@command(
    "show",
    "looseleaf prompt show",
    "looseleaf prompt show --agent ada --mode pipeline --format anthropic",
    "looseleaf prompt show --hook session-start",
)
@mode_option
@as_of_option
@narrowing
@click.option(
    "--format", "shape", type=click.Choice(formats.FORMATS), default="text", help="Else text."
)
@click.option(
    "--hook", type=click.Choice(formats.HOOKS), help="As a hook of a coding agent prints it."
)
@host_option
@room_option
@click.option("--raw", is_flag=True, help="Exactly the text, on a terminal too.")
@shared(*WHOSE)
def show_prompt(  # noqa: PLR0913 - one for each option
    asked: Asked,
    *,
    mode: str,
    as_of: str,
    deny: tuple[str, ...],
    allow_only: tuple[str, ...],
    shape: str,
    hook: str | None,
    host: str | None,
    max_characters: int,
    raw: bool,
) -> None:
    """Print what an agent is given before the conversation.

    With --hook, the JSON that Claude Code and Codex read when a session starts. It fits into what
    they take; pages that do not fit are named in it. A failure is told in that JSON, too, and the
    session starts without memory.
    """

    def composed(shape: str) -> dict[str, Any]:
        return operations.compose_prompt(
            asked.open(),
            mode,
            where=asked.where,
            as_of=as_of,
            format=shape,
            deny=deny,
            allow_only=allow_only or None,
            host=host or "",
            max_characters=max_characters,
        )

    if hook:
        try:
            # On one line: what a host takes is short, and an indent is no memory.
            print_document(composed("hook"), indent=None)
        except LooseleafError as error:
            print_document({"systemMessage": f"looseleaf: {error}"})
    elif shape == "text":
        show(composed(shape)["text"].encode() + b"\n", exact=raw)
    else:
        print_document(composed(shape))


@command(
    "explain",
    "looseleaf prompt explain",
    "looseleaf prompt explain --agent ada --mode system --format json",
)
@mode_option
@as_of_option
@narrowing
@hook_options
@shared(*WHOSE, "format")
def explain(
    asked: Asked,
    *,
    mode: str,
    as_of: str,
    deny: tuple[str, ...],
    allow_only: tuple[str, ...],
    hook: bool,
    host: str | None,
    max_characters: int,
) -> None:
    """List what was considered for a prompt, and which rule decided.

    Every page and directive in order: given or left out, its size, and who changed it last.
    """
    found = operations.explain_prompt(
        asked.open(),
        mode,
        where=asked.where,
        as_of=as_of,
        deny=deny,
        allow_only=allow_only or None,
        host=chosen_host(hook=hook, host=host),
        max_characters=max_characters,
    )
    if asked.json:
        candidates = [as_dict(one) for one in found.candidates]
        stable = as_dict(found.stable)
        print_document({**as_dict(found), "candidates": candidates, "stable": stable})
        return
    _print_explanation(found)


def _print_explanation(found: Explanation) -> None:
    rows: list[tuple[object, ...]] = []
    directive = ""
    for one in found.candidates:
        heading = f"{one.priority} {one.directive}"
        if one.directive not in (directive, one.name):
            rows.append((heading, *[""] * 5))
        directive = one.directive
        layer = f" ({one.layer})" if one.layer else ""
        what = heading if one.name == one.directive else f"   {one.name}{layer}"
        sizes = (f"{one.bytes:,}", f"{one.comments:,}" if one.comments else "", f"{one.tokens:,}")
        rows.append((what, *sizes, _status(one, found), _change(one)))
    headers = ("WHAT", "BYTES", "COMMENTS", "TOKENS", "STATUS", "CHANGED")
    print_table(headers, rows, shrink="CHANGED", right=("BYTES", "COMMENTS", "TOKENS"))
    say(_total(found))
    say(f"Stable beginning: {_prefix(found.stable)}")
    if found.comments:
        say(f"Comments left out: {counted(found.comments, 'byte')}.")
    for one in found.candidates:
        if one.detail:
            say(f"{one.name}: {one.detail}")


def _status(candidate: Candidate, found: Explanation) -> str:
    if candidate.rule != INJECTED:
        return f"left out: {candidate.rule.replace('_', ' ')}"
    return f"{INJECTED} in part" if candidate.name in found.truncated else INJECTED


def _change(candidate: Candidate) -> str:
    by = f" by {candidate.by}" if candidate.by else ""
    return f"{candidate.changed}{by}" if candidate.rule == INJECTED else ""


def _total(found: Explanation) -> str:
    size = f"{counted(found.bytes, 'byte')}, {counted(found.words, 'word')}"
    tokens = f"{counted(found.tokens, 'token')} ({found.tokenizer})"
    messages = counted(found.messages, "message")
    return f"Agent {found.agent}, mode {found.mode}: {messages}, {size}, {tokens}."


def _prefix(prefix: Prefix) -> str:
    parts = (
        counted(prefix.messages, "message"),
        counted(prefix.bytes, "byte"),
        counted(prefix.tokens, "token"),
    )
    return f"{', '.join(parts)}, sha256 {prefix.hash[:16]}"


@command(
    "diff",
    "looseleaf prompt diff --as-of 2026-04-16",
    "looseleaf prompt diff --agent ada --to-agent bob",
    "looseleaf prompt diff --mode chat --to-mode pipeline",
)
@mode_option
@as_of_option
@click.option("--to-mode", default="", metavar="MODE", help="Compare with this mode.")
@click.option(
    "--to-agent", metavar="ID|SLUG", help="With this agent.", shell_complete=complete_agents
)
@click.option("--to-as-of", default="", metavar="TIME", help="With the pages at this time.")
@shared(*WHOSE, "format")
def diff(
    asked: Asked, *, mode: str, as_of: str, to_mode: str, to_agent: str | None, to_as_of: str
) -> None:
    """Compare two prompts and name the first byte that differs.

    Of two times, agents or modes. Up to that byte a provider's cache can be used again.
    """
    found = operations.diff_prompts(
        asked.open(),
        mode,
        where=asked.where,
        as_of=as_of,
        other=operations.Side(to_mode, to_agent, to_as_of),
    )
    if asked.json:
        differences = [as_dict(one) for one in found.differences]
        common = as_dict(found.common)
        print_document({**as_dict(found), "differences": differences, "common": common})
    elif found.same:
        say(f"The prompts are the same: {counted(found.bytes[0], 'byte')}, {found.hash[0][:16]}.")
    else:
        _tell_difference(found)


def _tell_difference(found: Comparison) -> None:
    rows = [
        (one.kind, one.directive, one.name, one.layer, *one.bytes, _rules(one.rule))
        for one in found.differences
        if one.kind != "same"
    ]
    headers = ("CHANGE", "DIRECTIVE", "WHAT", "LAYER", "BEFORE", "AFTER", "RULE")
    print_table(headers, rows, shrink="RULE")
    where = f"message {found.message} ({found.name}), line {found.line}, column {found.column}"
    say(f"First difference: byte {found.first}, in {where}.")
    say(f"  before: {found.before!r}")
    say(f"  after:  {found.after!r}")
    say(f"In common: {_prefix(found.common)}")
    old, new = (f"{one:,}" for one in found.tokens)
    say(f"Tokens ({found.tokenizer}): {old} before, {new} after.")


def _rules(rules: tuple[str, str]) -> str:
    before, after = (rule.replace("_", " ") or "not there" for rule in rules)
    return before if before == after else f"{before} → {after}"
