"""`looseleaf prompt check`: checks of a prompt's budgets and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import SharedOptions, with_shared_options
from looseleaf.cli.commands.prompt import OWNER_OPTIONS, mode_option
from looseleaf.cli.formats import format_count, print_document
from looseleaf.cli.groups import command
from looseleaf.cli.hook_options import select_host, with_hook_options
from looseleaf.cli.output import FAILED, complain, say
from looseleaf.cli.workflow_options import select_mode, with_workflow_options
from looseleaf.operations import prompt as operations
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from typing import Any

    from looseleaf.operations.prompt import Checked
    from looseleaf.prompt.reports import Overrun


@command("check", "looseleaf prompt check", "looseleaf prompt check --max-tokens 8000")
@mode_option
@click.option("--max-bytes", type=int, default=0, metavar="N", help="For the whole prompt.")
@click.option("--max-tokens", type=int, default=0, metavar="N", help="For the whole prompt.")
@with_workflow_options
@with_hook_options
@with_shared_options(*OWNER_OPTIONS, "format")
def check(
    options: SharedOptions,
    *,
    mode: str | None,
    max_bytes: int,
    max_tokens: int,
    hook: bool,
    host: str | None,
    max_characters: int,
    **workflow: Any,  # noqa: ANN401 - the options of a workflow
) -> None:
    """Check a prompt against its budgets, and its pages.

    The budgets are those of its pages, of the agent, of the settings and of this command; with
    --hook, also the limit of a hook's output. Pages must be readable, without conflict markers,
    and without conflicting copies beside them. Exits with 1 if something is wrong, so that a build
    can stop.
    """
    result = operations.check_prompt(
        options.open(),
        select_mode(mode, workflow),
        where=options.where,
        max_bytes=max_bytes,
        max_tokens=max_tokens,
        host=select_host(hook=hook, host=host),
        max_characters=max_characters,
        **workflow,
    )
    if options.json:
        overruns = [as_dict(overrun) for overrun in result.overruns]
        problems = [as_dict(problem) for problem in result.problems]
        print_document({**as_dict(result), "overruns": overruns, "problems": problems})
    else:
        _print_check(result)
    if not result.fits:
        raise click.exceptions.Exit(FAILED)


def _print_check(result: Checked) -> None:
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


_HOST_NAMES = {"any": "the strictest host", "claude-code": "Claude Code", "codex": "Codex"}


def _format_overrun(overrun: Overrun) -> str:
    subject = f"{overrun.name} ({overrun.layer})" if overrun.name else "The prompt"
    return f"{subject} has {overrun.size:,} {overrun.unit}, and may have {overrun.limit:,}."
