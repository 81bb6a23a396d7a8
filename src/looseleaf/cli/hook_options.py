"""The options of commands that examine the output of a hook for a coding agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.prompt import host_limit

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., object]

host_option = click.option(
    "--host",
    type=click.Choice(host_limit.HOSTS),
    help="Which program reads the hook; it counts in its own way.",
)
max_characters_option = click.option(
    "--max-characters",
    type=int,
    default=0,
    metavar="N",
    help="What the host takes; else hook_characters of the settings.",
)


def with_hook_options(function: Function) -> Function:
    """Add the options that select the output of a hook."""
    flag = click.option("--hook", is_flag=True, help="Of what a hook gives to a coding agent.")
    return flag(host_option(max_characters_option(function)))


def select_host(*, hook: bool, host: str | None) -> str:
    """Return the selected host; "" without a hook."""
    return host or ("any" if hook else "")
