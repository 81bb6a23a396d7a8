"""`looseleaf serve`: the server, until it is told to stop."""

from __future__ import annotations

import click

from looseleaf.cli.arguments import Asked, local, shared
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.errors import Invalid
from looseleaf.extras import SERVER, require_extra
from looseleaf.values import changed


@command("serve", "looseleaf serve", "looseleaf serve --port 9000 --workers 2")
@click.option("--host", help="The address to listen at; else the setting, else 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Else the setting, else 8765.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes; else the setting, else 1.")
@click.option("--login-link", is_flag=True, help="Print a login link, not only at the first start.")
@click.option("--log", is_flag=True, help="Print a line for each request; JSON in a pipe.")
@shared()
def serve(
    asked: Asked,
    host: str | None,
    port: int | None,
    workers: int | None,
    *,
    login_link: bool,
    log: bool,
) -> None:
    """Run the server: REST, and a way in for people.

    The first start makes an administrator and prints a link to sign in with, once. Only this
    machine can reach the server, unless --host and allowed_hosts say otherwise. Ctrl-C stops it:
    requests under way are finished first.
    """
    local(asked, "it is what makes a server", named=True)
    with require_extra(SERVER, "looseleaf serve"):
        from looseleaf.web import server
    from looseleaf.workspace import Workspace

    with Workspace.open(asked.root, surface="cli") as workspace:
        told = {"host": host, "port": port, "workers": workers}
        chosen = changed(
            workspace.settings, **{name: one for name, one in told.items() if one is not None}
        )
        if chosen.workers < 1:
            raise Invalid("workers is at least 1.")
        taken = server.listen(chosen)
        base = server.address(taken)
        workspace.accounts()
        if login_link or server.is_new(workspace.context):
            say("Sign in once, within the hour:")
            say(f"  {server.login_link(workspace.context, base)}")
    say(f"Serving {workspace.root}")
    say(f"  at {base} (its API: {base}/docs). Stop with Ctrl-C.")
    server.run(workspace.root, chosen, taken, log=log)
