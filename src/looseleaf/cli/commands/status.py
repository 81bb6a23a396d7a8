"""`looseleaf status`: the workspace, agent, server and version in use."""

from __future__ import annotations

import http.client
import json

from looseleaf import settings
from looseleaf.cli.arguments import SharedOptions, with_shared_options
from looseleaf.cli.formats import format_count, print_document
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.operations.status import StatusInfo, show_status
from looseleaf.settings import Settings
from looseleaf.values import as_dict
from looseleaf.version import __version__

_PROBE_SECONDS = 1.0
_PROBE_BYTES = 10_000


@command("status", "looseleaf status", "looseleaf status --agent ada --format json")
@with_shared_options("agent", "format")
def status(options: SharedOptions) -> None:
    """Show the workspace, agent, server and version in use.

    Also how the workspace was found, and whether its server is running.
    """
    context = options.open()
    info = show_status(context, where=options.where)
    source = _describe_source(options)
    address = options.server or _find_server(context.settings)
    if options.json:
        extra_fields = {
            "client_version": __version__,
            "found_by": source,
            "server": address or None,
        }
        print_document({**as_dict(info), **extra_fields})
        return
    _print_status(info, source, address)


def _print_status(info: StatusInfo, source: str, address: str) -> None:
    name = f" {info.workspace!r}" if info.workspace else ""
    place = info.root or "on the server"
    say(f"workspace  {place}{name} ({source})")
    say(f"agent      {_format_agent(info)}")
    say(f"user       {info.actor} (user {info.user_id})")
    say(f"model      {info.model or 'none: set default_model in looseleaf.toml to chat'}")
    say(f"journal    {'on' if info.journal else 'off: agents may read it and not write it'}")
    say(f"server     {address or 'not running; start it with looseleaf serve'}")
    difference = "" if info.version == __version__ else f", the server {info.version}"
    say(f"version    looseleaf {__version__}{difference}")


def _format_agent(info: StatusInfo) -> str:
    if info.agent:
        return f"{info.agent} (of {format_count(info.agent_count, 'agent')})"
    if not info.agents:
        return "none yet; create one with looseleaf agents create"
    names = ", ".join(info.agents) + (" …" if info.agent_count > len(info.agents) else "")
    return f"choose one with --agent: {names}"


def _describe_source(options: SharedOptions) -> str:
    """Say which rule found the workspace."""
    if options.remote is not None:
        return "--remote"
    if options.root is not None:
        return "--root"
    if options.server:
        return settings.REMOTE
    return (
        "LOOSELEAF_ROOT" if settings.read_variable("LOOSELEAF_ROOT") else "found from this folder"
    )


def _find_server(server_settings: Settings) -> str:
    """Give the address of a Looseleaf server that listens where the settings say; else ""."""
    connection = http.client.HTTPConnection(
        server_settings.host, server_settings.port, timeout=_PROBE_SECONDS
    )
    try:
        connection.request("GET", "/health")
        body = json.loads(connection.getresponse().read(_PROBE_BYTES))
    except (OSError, ValueError, http.client.HTTPException):
        return ""
    finally:
        connection.close()
    is_ours = isinstance(body, dict) and {"status", "problems"} <= body.keys()
    return f"http://{server_settings.host}:{server_settings.port}" if is_ours else ""
