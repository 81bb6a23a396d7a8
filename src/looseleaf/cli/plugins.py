"""`looseleaf plugins …`: who extends this workspace, and by what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf import __version__
from looseleaf.cli.arguments import Asked, local, shared
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.memory.registry import OWNER
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.plugins.hooks import Plugin


@command("list", "looseleaf plugins list", "looseleaf plugins list --format json")
@shared("format")
def list_plugins(asked: Asked) -> None:
    """List the plugins, and what each registered."""
    local(asked, "plugins are packages on the machine where the workspace lies")
    found = asked.workspace().plugins()
    if asked.json:
        print_document({"plugins": [{**as_dict(one), "version": _version(one)} for one in found]})
        return
    rows = [(one.name, _version(one), _origin(one), len(one.hooks)) for one in found]
    print_table(("NAME", "VERSION", "ORIGIN", "HOOKS"), rows)
    for one in found:
        if one.enabled:
            _describe(one)


def _describe(plugin: Plugin) -> None:
    say()
    say(f"{plugin.name}: {', '.join(plugin.hooks)}")
    for kind, names in plugin.registered.items():
        say(f"  {kind}: {', '.join(names)}")


def _version(plugin: Plugin) -> str:
    return __version__ if plugin.name == OWNER else plugin.version


def _origin(plugin: Plugin) -> str:
    package = f" with {plugin.package}" if plugin.package else ""
    return f"{plugin.origin}{package}" + ("" if plugin.enabled else ", switched off")
