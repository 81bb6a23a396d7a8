"""`looseleaf settings …`: settings, their sources, and changes while the server runs."""

from __future__ import annotations

import json

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, with_shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.operations import settings as operations


@command("list", "looseleaf settings list", "looseleaf settings list --format json")
@with_shared_options("format")
def list_settings(options: SharedOptions) -> None:
    """List every setting and where it comes from."""
    settings = operations.list_settings(options.open())
    if options.json:
        print_document({"settings": to_json_value(settings)})
        return
    rows = [
        (
            setting.name,
            _as_json(setting.setting),
            setting.source,
            "at once" if setting.runtime else "at restart",
        )
        for setting in settings
    ]
    print_table(("SETTING", "IS", "FROM", "CHANGES APPLY"), rows, shrink="IS")
    pending_names = [setting.name for setting in settings if setting.restart_needed]
    if pending_names:
        say()
        say(f"Changed in the file since the server started: {', '.join(pending_names)}.")
        say("Restart the server to apply them.")


@command(
    "set",
    "looseleaf settings set daily_memory_enabled true",
    "looseleaf settings set require_if_match true",
)
@click.argument("name")
@click.argument("setting", metavar="VALUE")
@with_shared_options("format", "reason")
def set_setting(options: SharedOptions, name: str, setting: str) -> None:
    """Change a setting while the server runs.

    It applies at once, to agents and people on the network. Other settings are set in
    looseleaf.toml.
    """
    _set_and_print(options, name, _parse_argument(setting))


@command("unset", "looseleaf settings unset daily_memory_enabled")
@click.argument("name")
@with_shared_options("format", "reason")
def unset(options: SharedOptions, name: str) -> None:
    """Return to the value of the settings file."""
    _set_and_print(options, name, None)


def _set_and_print(options: SharedOptions, name: str, setting: str | float | None) -> None:
    result = operations.set_setting(options.open(), name, setting=setting)
    if options.json:
        print_document(to_json_value(result))
    else:
        say(f"{result.name} = {_as_json(result.setting)} ({result.source})")


def _parse_argument(text: str) -> str | float:
    try:
        data: object = json.loads(text)
    except ValueError:
        return text
    return data if isinstance(data, str | bool | int | float) else text


def _as_json(setting: object) -> str:
    return json.dumps(setting, ensure_ascii=False)
