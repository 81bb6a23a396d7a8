"""`looseleaf serve` and `looseleaf mcp …`: the server, and programs that speak MCP."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import (
    NumberRange,
    SharedOptions,
    confirm,
    require_local,
    with_shared_options,
)
from looseleaf.cli.command_line import DefaultGroup, command
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.output import complain, print_text, say, show
from looseleaf.errors import Invalid, LooseleafError
from looseleaf.extras import SERVER, require_extra
from looseleaf.mcp.clients.config_edits import (
    ClientSetup,
    FileEdit,
    build_snippets,
    check_plan,
    plan_edits,
    plan_project,
    write,
)
from looseleaf.mcp.clients.programs import (
    BY_FOLDER,
    CLIENTS,
    NAME,
    TOKEN,
    build_hook_command,
    build_mcp_address,
    resolve_stable_command,
)
from looseleaf.mcp.clients.status import Status, read_own_memory, read_status
from looseleaf.values import as_dict, replace
from looseleaf.workspace import Workspace

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
@click.option("--port", type=NumberRange(0, 65_535), help="Else the setting, else 8765.")
@click.option("--workers", type=NumberRange(1, 64), help="Processes; else the setting, else 1.")
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
    """Run the server: admin site, REST and MCP.

    The admin site is for people, REST and MCP are for programs.

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


tools_option = click.option(
    "--tools",
    type=click.Choice(["small", "full"]),
    default="small",
    help="The tools of every day, or all tools that a model may use.",
)
all_agents_option = click.option(
    "--all-agents", is_flag=True, help="For all agents; the model names the agent."
)
by_folder_option = click.option(
    "--by-folder",
    is_flag=True,
    help="The agent that [projects] of the settings names for this folder; else --agent.",
)
NOT_REMOTE = "a server speaks MCP itself, at /mcp"


@command("serve", "looseleaf mcp serve --agent ada", "looseleaf mcp serve --tools full")
@tools_option
@all_agents_option
@by_folder_option
@with_shared_options("agent", "user")
def serve_mcp(options: SharedOptions, tools: str, *, all_agents: bool, by_folder: bool) -> None:
    """Serve one client over standard input and output.

    Programs start this command by themselves after `looseleaf mcp install`. The server acts for one
    agent, under the program's name. While the workspace is away, each tool says how to mend that.
    """
    require_local(options, NOT_REMOTE)
    from looseleaf.mcp.stdio import ServerOptions
    from looseleaf.mcp.stdio import serve as serve_stdio

    serve_stdio(
        lambda: Workspace.open(options.root, surface="mcp"),
        ServerOptions(
            agent=options.agent,
            user=options.user,
            all_agents=all_agents,
            by_folder=by_folder,
            full=tools == "full",
        ),
    )


client_option = click.option(
    "--client", type=click.Choice(list(CLIENTS)), required=True, help="The program."
)
project_option = click.option(
    "--project", is_flag=True, help="Only for the project in this folder."
)
name_option = click.option(
    "--name", default=NAME, metavar="WORD", help="The name of the server in the program."
)
print_option = click.option(
    "--print", "action", flag_value="print", help="Print the entries and change nothing."
)
own_memory_option = click.option(
    "--own-memory",
    type=click.Choice(["on", "off"]),
    help="Switch the program's own memory on or off, if it has one.",
)
dry_option = click.option(
    "--dry-run", "action", flag_value="dry-run", help="Show the change and make none."
)
yes_option = click.option("--yes", "action", flag_value="yes", help="Do not ask.")


@command(
    "install",
    "looseleaf mcp install --client claude-code",
    "looseleaf mcp install --client cursor --agent ada --project",
    "looseleaf mcp install --client codex --print",
)
@client_option
@tools_option
@all_agents_option
@project_option
@name_option
@click.option("--no-hook", is_flag=True, help="Only the server; sessions start without memory.")
@own_memory_option
@print_option
@dry_option
@yes_option
@with_shared_options("agent", "user")
def install_client(  # noqa: PLR0913 - one for each option
    options: SharedOptions, client: str, tools: str, name: str, *, all_agents: bool, project: bool,
    no_hook: bool, own_memory: str | None, action: str | None,
) -> None:  # fmt: skip
    """Connect a program: its server and its hook.

    Shows the change to the program's configuration first, and asks. The hook, if the program has
    hooks, gives a session its memory at the start; the server gives the session the tools. A
    program with a memory of its own then has two, unless --own-memory off switches that one off.

    With --remote, the program reaches a server over HTTP, with the token that the variable
    LOOSELEAF_TOKEN has when it starts.
    """
    plan = ClientSetup(
        client=CLIENTS[client], name=name, project=project, own_memory=own_memory or ""
    )
    check_plan(plan)
    if options.server:
        plan = _with_address(plan, options, is_local=all_agents or tools != "small")
    else:
        plan = _with_commands(plan, options, tools, all_agents=all_agents)
    if no_hook:
        plan = replace(plan, hook=())
    if own_memory is None and action is None and _offer_one_memory(plan):
        plan = replace(plan, own_memory="off")
    if action == "print":
        _print_entries(plan)
    else:
        _install(plan, options, action)


def _install(plan: ClientSetup, options: SharedOptions, action: str | None) -> None:
    """Write the entries of a program, and say what a person must know."""
    try:
        edits = plan_edits(plan)
    except Invalid as error:
        complain(f"{error} These are the lines to put in yourself:", error=error)
        _print_entries(plan)
        raise click.exceptions.Exit(2) from error
    if not edits:
        say(f"{plan.client.title} has it already: {plan.server_file}")
        return
    if _write_edits(edits, action):
        if plan.words:
            # Created here, since creating a database takes three times the memory of a server.
            options.workspace().accounts()
        say(f"{plan.client.title} starts it from now on; restart it if it is running.")
    for line in (*_list_approvals(plan), *_describe_own_memory(plan)):
        say(line)
    for row in read_status():
        if CLIENTS[row.client] is plan.client:
            for problem in row.problems:
                complain(f"{row.file}: {problem}.")


@command("uninstall", "looseleaf mcp uninstall --client claude-code")
@client_option
@project_option
@name_option
@own_memory_option
@dry_option
@yes_option
@with_shared_options()
def uninstall_client(
    options: SharedOptions, client: str, name: str, *, project: bool, own_memory: str | None,
    action: str | None,
) -> None:  # fmt: skip
    """Remove our entries from a program's files.

    Removes the server and its hook. Shows the change first, and asks. All other entries stay, and
    so does the switch of the program's own memory, unless --own-memory on removes it.
    """
    require_local(options, NOT_REMOTE, by_option=True)
    plan = ClientSetup(
        client=CLIENTS[client], name=name, project=project, own_memory=own_memory or ""
    )
    check_plan(plan)
    edits = plan_edits(plan)
    if not edits:
        say(f"{plan.server_file} has no entry {name}.")
        return
    if _write_edits(edits, action):
        say(f"{plan.client.title} no longer starts it; restart it if it is running.")
        if read_own_memory(plan.client) == "off":
            say("Its own memory is off; to have it again, repeat this with --own-memory on.")


@command("status", "looseleaf mcp status", "looseleaf mcp status --format json")
@with_shared_options("format")
def show_clients(options: SharedOptions) -> None:
    """Show which programs are connected to which workspace.

    For this user and for the project in this folder: the workspace, the agent, whether there is a
    session-start hook, and problems.
    """
    require_local(options, NOT_REMOTE, by_option=True)
    rows = read_status()
    if options.json:
        print_document({"clients": [as_dict(row) for row in rows]})
        return
    headers = ("CLIENT", "SCOPE", "NAME", "WORKSPACE", "AGENT", "HOOK", "STATE")
    print_table(headers, map(_format_row, rows), shrink="STATE")


@command(
    "project",
    "looseleaf mcp project",
    "looseleaf mcp project ~/code/shop --agent shop",
    "looseleaf mcp project ~/code/shop --remove",
)
@click.argument("folder", default="", metavar="[FOLDER]", type=click.Path())
@click.option("--remove", is_flag=True, help="The project has no agent of its own any more.")
@dry_option
@yes_option
@with_shared_options("agent", "format")
def assign_project(
    options: SharedOptions, folder: str, *, remove: bool, action: str | None
) -> None:
    """Name the agent of a project, or list the projects.

    Programs that were connected for a user then give sessions in FOLDER and below it this agent:
    its memory at the start, and its tools. The line is in [projects] of looseleaf.toml. A file
    .looseleaf in a repository, with a line such as agent = "shop", does the same without it.
    """
    require_local(options, NOT_REMOTE)
    workspace = options.workspace()
    projects = workspace.settings.projects
    if not folder:
        if remove or options.agent is not None:
            raise click.UsageError("Which folder? Name it; . is this one.")
        if options.json:
            rows = [{"folder": project, "agent": agent} for project, agent in projects]
            print_document({"projects": rows})
        else:
            print_table(("FOLDER", "AGENT"), projects)
        return
    if remove == (options.agent is not None):
        raise click.UsageError("Name the agent of the project by --agent, or give --remove.")
    agent = None if remove else workspace.agents.resolve(options.agent).slug
    edit = plan_project(workspace.root, projects, os.path.abspath(folder), agent)
    if edit is None:
        say("Nothing is to be changed.")
    elif _write_edits([edit], action) and agent:
        say(f"New sessions in {folder} have the agent {agent}.")


def _format_row(row: Status) -> tuple[str, ...]:
    state = "; ".join(row.problems) or ("connected" if row.name else "not connected")
    if row.own_memory == "on":
        state += f"; {CLIENTS[row.client].title}'s own memory is on, too"
    by_folder = row.by_folder and bool(row.command)
    agent = (row.agent or "all") + " or by folder" * by_folder if row.name else "-"
    agent = f"{row.project_agent} by folder" if row.project_agent else agent
    place = (row.client, row.scope, row.name or "-", row.workspace or "-")
    return (*place, agent, row.hook or "-", state)


def _write_edits(edits: list[FileEdit], action: str | None) -> bool:
    for edit in edits:
        show(f"{edit.diff}\n".encode())
    if action == "dry-run":
        say("Nothing was changed.")
        return False
    paths = " and ".join(edit.path for edit in edits)
    confirm(f"Write this to {paths}?", yes=action == "yes")
    write(edits)
    return True


def _print_entries(plan: ClientSetup) -> None:
    entries = build_snippets(plan)
    for path, text in entries.items():
        if len(entries) > 1:
            say(f"# In {path}:")
        print_text(text)


def _list_approvals(plan: ClientSetup) -> list[str]:
    client = plan.client
    texts = (client.project_approval if plan.project else "", client.approval)
    lines = [f"To approve: {text}" for text in texts if text]
    if plan.address:
        lines.append(f"It reads the token from {TOKEN}, which must be set where it is started.")
    if not client.hooks:
        lines.append(
            f"{client.title} has no session-start hook that we know of: its models read the memory "
            "with the tools."
        )
    return lines


def _offer_one_memory(plan: ClientSetup) -> bool:
    """Ask a person at the terminal whether the program's own memory is to be switched off."""
    if read_own_memory(plan.client) != "on" or sys.stdin is None or not sys.stdin.isatty():
        return False
    say(f"{plan.client.title} has a memory of its own, with rules of its own in every session.")
    return click.confirm("Switch that one off, so that there is one memory?", err=True)


def _describe_own_memory(plan: ClientSetup) -> list[str]:
    """Say how a program with a memory of its own comes to have one memory."""
    if read_own_memory(plan.client) != "on":
        return []
    return [
        f"{plan.client.title} has a memory of its own, too; --own-memory off switches it off.",
        "To bring in what it knows: looseleaf import ~/.claude/projects/PROJECT/memory",
    ]


def _with_commands(
    plan: ClientSetup, options: SharedOptions, tools: str, *, all_agents: bool
) -> ClientSetup:
    """Add the commands that start the server and the hook, from any folder."""
    workspace = Workspace.open(options.root, surface="cli")
    program = resolve_stable_command()
    try:
        agent = workspace.agents.resolve(options.agent).slug
    except LooseleafError:
        if not all_agents:
            raise
        agent = ""  # without a default agent, a session starts without memory
    words = [*program, "mcp", "--root", workspace.root]
    words += ["--all-agents"] if all_agents else ["--agent", agent]
    # Entries of a project are of its agent; those of a user serve all projects.
    by_folder = [] if plan.project else [BY_FOLDER]
    user = ["--user", str(options.user)] if options.user is not None else []
    words += ([] if all_agents else by_folder) + user
    if tools != "small":
        words += ["--tools", tools]
    place = ["--root", workspace.root, "--agent", agent, *by_folder, *user]
    hook = _build_hook(plan, program, place) if agent else ()
    return replace(plan, words=tuple(words), hook=hook)


def _with_address(plan: ClientSetup, options: SharedOptions, *, is_local: bool) -> ClientSetup:
    """Add the address of a server, and the command of the hook, which asks that server."""
    from looseleaf.remote.address import parse_address

    if is_local or options.user is not None:
        raise Invalid(
            "--tools, --all-agents and --user are for a workspace on this machine: of a server, "
            "the token and mcp_tools in its settings decide."
        )
    if options.token is not None or options.token_file is not None:
        raise Invalid(f"No file of a program has the token: it is read from {TOKEN} at each start.")
    if plan.client.remote_entry is None:
        raise Invalid(f"{plan.client.title} takes a server by its address only on its own screen.")
    base = parse_address(options.server, insecure=options.insecure).base
    agent = options.agent or ""
    place = ["--remote", base, *(["--agent", agent] if agent else [])]
    place += ([] if plan.project else [BY_FOLDER]) + ["--insecure"] * options.insecure
    hook = _build_hook(plan, resolve_stable_command(), place)
    return replace(plan, address=build_mcp_address(base, agent), hook=hook)


def _build_hook(plan: ClientSetup, program: list[str], place: list[str]) -> tuple[str, ...]:
    """Return the command of the hook, if the program has hooks."""
    host = plan.client.host
    return (*build_hook_command(program, place, "--host", host),) if host else ()


mcp_group = DefaultGroup(
    "mcp",
    "Memory for programs that speak MCP. `looseleaf mcp` alone is `looseleaf mcp serve`.",
    *(serve_mcp, install_client, uninstall_client, assign_project, show_clients),
)
