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
        (one.name, _as_json(one.setting), one.source, "at once" if one.runtime else "at restart")
        for one in found
    ]
    print_table(("SETTING", "IS", "FROM", "CHANGES APPLY"), rows, shrink="IS")
    waiting = [one.name for one in found if one.restart_needed]
    if waiting:
        say()
        say(f"Changed in the file since the server started: {', '.join(waiting)}.")
        say("Restart the server to apply them.")


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
    _put(asked, name, _parse_argument(setting))


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
        say(f"{made.name} = {_as_json(made.setting)} ({made.source})")


def _parse_argument(text: str) -> str | float:
    try:
        parsed: object = json.loads(text)
    except ValueError:
        return text
    return parsed if isinstance(parsed, str | bool | int | float) else text


def _as_json(setting: object) -> str:
    return json.dumps(setting, ensure_ascii=False)
