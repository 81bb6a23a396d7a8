"""The options of commands that look at what a hook gives to a coding agent."""

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
room_option = click.option(
    "--max-characters",
    type=int,
    default=0,
    metavar="N",
    help="What the host takes; else hook_characters of the settings.",
)


def hook_options(function: Function) -> Function:
    """Give a command the options by which it looks at a hook's output instead."""
    flag = click.option("--hook", is_flag=True, help="Of what a hook gives to a coding agent.")
    return flag(host_option(room_option(function)))


def chosen_host(*, hook: bool, host: str | None) -> str:
    """Give the host that is meant; "" where no hook is."""
    return host or ("any" if hook else "")
