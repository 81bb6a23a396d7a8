"""`looseleaf settings …`: what is set, from where, and what can be set while running."""

from __future__ import annotations

import json

import click

from looseleaf.cli.arguments import Asked, shared
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.operations import settings as operations
from looseleaf.operations.schema import plain


@command("list", "looseleaf settings list", "looseleaf settings list --format json")
@shared("format")
def list_settings(asked: Asked) -> None:
    """List every setting and where it comes from."""
    found = operations.list_settings(asked.open())
    if asked.json:
        print_document({"settings": plain(found)})
        return
    rows = [
        (one.name, _shown(one.setting), one.source, "yes" if one.runtime else "-") for one in found
    ]
    print_table(("SETTING", "IS", "FROM", "WHILE RUNNING"), rows, shrink="IS")


@command(
    "set",
    "looseleaf settings set daily_memory_enabled true",
    "looseleaf settings set require_if_match true",
)
@click.argument("name")
@click.argument("setting", metavar="VALUE")
@shared("format", "reason")
def set_setting(asked: Asked, name: str, setting: str) -> None:
    """Make a setting while the server is running.

    For agents and people on the network, and at once; the rest is set in looseleaf.toml.
    """
    _put(asked, name, _parsed(setting))


@command("unset", "looseleaf settings unset daily_memory_enabled")
@click.argument("name")
@shared("format", "reason")
def unset(asked: Asked, name: str) -> None:
    """Go back to what the settings file says."""
    _put(asked, name, None)


def _put(asked: Asked, name: str, setting: str | float | None) -> None:
    made = operations.set_setting(asked.open(), name, setting=setting)
    if asked.json:
        print_document(plain(made))
    else:
        say(f"{made.name} = {_shown(made.setting)} ({made.source})")


def _parsed(text: str) -> str | float:
    try:
        found: object = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, str | bool | int | float) else text


def _shown(setting: object) -> str:
    return json.dumps(setting, ensure_ascii=False)
