"""`looseleaf serve`: runs the server until it is stopped."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import SharedOptions, require_local, with_shared_options
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.errors import Invalid
from looseleaf.extras import SERVER, require_extra
from looseleaf.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable


def _show_link(link: str, own_name: Callable[[str], str]) -> None:
    say("Sign in once, within the hour:")
    if named_link := own_name(link):
        say(f"  {named_link}")
        say("or, in a browser that does not know this name:")
    say(f"  {link}")


@command("serve", "looseleaf serve", "looseleaf serve --port 9000 --workers 2")
@click.option("--host", help="The address to listen at; else the setting, else 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Else the setting, else 8765.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes; else the setting, else 1.")
@click.option("--login-link", is_flag=True, help="Print a login link, even if the output is a log.")
@click.option("--log", is_flag=True, help="Print a line for each request and job; JSON in a pipe.")
@with_shared_options()
def serve(
    options: SharedOptions,
    host: str | None,
    port: int | None,
    workers: int | None,
    *,
    login_link: bool,
    log: bool,
) -> None:
    """Run the server: the admin site for people, REST and MCP for programs.

    The first start creates an administrator. On a terminal the command prints a link to sign in
    with. Only this machine can reach the server, unless --host and allowed_hosts say otherwise.
    Ctrl-C stops the server, after running requests are finished.
    """
    require_local(options, "this command starts a server", by_option=True)
    with require_extra(SERVER, "looseleaf serve"):
        from looseleaf.web import server
    from looseleaf.workspace import Workspace

    with Workspace.open(options.root, surface="cli") as workspace:
        server_options = {"host": host, "port": port, "workers": workers}
        settings = replace(
            workspace.settings,
            **{name: option for name, option in server_options.items() if option is not None},
        )
        if settings.workers < 1:
            raise Invalid("workers must be at least 1.")
        socket = server.listen(settings)
        base = server.address_of(socket)
        workspace.accounts()
        is_new = server.is_new(workspace.context)
        if login_link or sys.stdout.isatty():
            _show_link(server.create_login_url(workspace.context, base), server.with_own_name)
        elif is_new:
            # A reader of the log of a service could use the link before the operator does.
            say("Nobody can sign in yet. A link is printed on a terminal alone, or with")
            say("--login-link; or run this on this machine, for a code to sign in with:")
            say(f"  looseleaf tokens login --root {shlex.quote(workspace.root)}")
    say(f"Serving {workspace.root}")
    say(f"  at {base} (its API: {base}/docs). Stop with Ctrl-C.")
    server.run(workspace.root, settings, socket, log=log)
