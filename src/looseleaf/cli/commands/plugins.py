"""`looseleaf plugins …`: the plugins of this workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf import __version__
from looseleaf.cli.arguments import SharedOptions, require_local, with_shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.memory.registry import OWNER
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from looseleaf.plugins.hooks import Plugin


@command("list", "looseleaf plugins list", "looseleaf plugins list --format json")
@with_shared_options("format")
def list_plugins(options: SharedOptions) -> None:
    """List the plugins, and what each registered."""
    require_local(options, "plugins are packages on the machine where the workspace lies")
    plugins = options.workspace().registries.plugins()
    if options.json:
        print_document(
            {"plugins": [{**as_dict(plugin), "version": _version_of(plugin)} for plugin in plugins]}
        )
        return
    rows = [
        (plugin.name, _version_of(plugin), _format_origin(plugin), len(plugin.hooks))
        for plugin in plugins
    ]
    print_table(("NAME", "VERSION", "ORIGIN", "HOOKS"), rows)
    for plugin in plugins:
        if plugin.enabled:
            _print_plugin(plugin)


def _print_plugin(plugin: Plugin) -> None:
    say()
    say(f"{plugin.name}: {', '.join(plugin.hooks)}")
    for kind, names in plugin.registered.items():
        say(f"  {kind}: {', '.join(names)}")


def _version_of(plugin: Plugin) -> str:
    return __version__ if plugin.name == OWNER else plugin.version


def _format_origin(plugin: Plugin) -> str:
    package = f" with {plugin.package}" if plugin.package else ""
    return f"{plugin.origin}{package}" + ("" if plugin.enabled else ", switched off")
