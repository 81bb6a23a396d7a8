"""Every command of the command line, with the words by which it is typed."""

from __future__ import annotations

from collections.abc import Iterator

import click

from looseleaf.cli.command_line import Command, Group, looseleaf_command
from looseleaf.cli.derived_commands import DerivedCommand

Path = tuple[str, ...]


def walk(context: click.Context, path: Path = ()) -> Iterator[tuple[Path, str, click.Command]]:
    """Yield every command with its path and the summary its group shows."""
    group = context.command
    assert isinstance(group, Group)
    for item in group.shell_complete(context, ""):
        found = group.get_command(context, item.value)
        assert found is not None
        yield (*path, item.value), item.help or "", found
        if isinstance(found, Group):
            inner = click.Context(found, parent=context, info_name=item.value)
            yield from walk(inner, (*path, item.value))


EVERY = list(walk(click.Context(looseleaf_command, info_name="looseleaf")))
LEAVES = [(path, found) for path, _, found in EVERY if isinstance(found, Command)]
DERIVED = [(path, found) for path, found in LEAVES if isinstance(found, DerivedCommand)]
