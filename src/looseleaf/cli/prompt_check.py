"""`looseleaf prompt check`: does a prompt keep its budgets, and are its pages as they should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import Asked, shared
from looseleaf.cli.formats import counted, print_document
from looseleaf.cli.groups import command
from looseleaf.cli.hook_options import chosen_host, hook_options
from looseleaf.cli.output import FAILED, complain, say
from looseleaf.cli.prompt import WHOSE, mode_option
from looseleaf.operations import prompt as operations
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.operations.prompt import Checked
    from looseleaf.prompt.budget import Overrun


@command("check", "looseleaf prompt check", "looseleaf prompt check --max-tokens 8000")
@mode_option
@click.option("--max-bytes", type=int, default=0, metavar="N", help="For the whole prompt.")
@click.option("--max-tokens", type=int, default=0, metavar="N", help="For the whole prompt.")
@hook_options
@shared(*WHOSE, "format")
def check(
    asked: Asked,
    *,
    mode: str,
    max_bytes: int,
    max_tokens: int,
    hook: bool,
    host: str | None,
    max_characters: int,
) -> None:
    """Check a prompt against its budgets, and its pages.

    The budgets of its pages, of the agent, of the settings, and those given here; with --hook, the
    room in a hook's output. Pages must be readable, and not half merged or there twice. Exits with
    1 where something is wrong, so a build can stop.
    """
    found = operations.check_prompt(
        asked.open(),
        mode,
        where=asked.where,
        max_bytes=max_bytes,
        max_tokens=max_tokens,
        host=chosen_host(hook=hook, host=host),
        max_characters=max_characters,
    )
    if asked.json:
        overruns = [as_dict(one) for one in found.overruns]
        problems = [as_dict(one) for one in found.problems]
        print_document({**as_dict(found), "overruns": overruns, "problems": problems})
    else:
        _print_check(found)
    if not found.fits:
        raise click.exceptions.Exit(FAILED)


def _print_check(found: Checked) -> None:
    tokens = f"{counted(found.tokens, 'token')} ({found.tokenizer})"
    say(f"The prompt has {counted(found.bytes, 'byte')}, {tokens}.")
    for one in found.overruns:
        complain(_overrun(one))
    if found.host:
        room = f"{found.characters:,} of {found.max_characters:,} characters"
        say(f"The hook's output takes {room}, as {_HOST_NAMES[found.host]} counts.")
        for names, act in (
            (found.truncated, "gives only a part of"),
            (found.omitted, "leaves out"),
        ):
            if names:
                complain(
                    f"The hook {act} {', '.join(names)}: shorten pages, or move text to others."
                )
    for problem in found.problems:
        complain(f"{problem.detail.rstrip('.')}. {problem.advice}")


_HOST_NAMES = {"any": "the strictest host", "claude-code": "Claude Code", "codex": "Codex"}


def _overrun(one: Overrun) -> str:
    what = f"{one.name} ({one.layer})" if one.name else "The prompt"
    return f"{what} has {one.size:,} {one.unit}, and may have {one.limit:,}."
