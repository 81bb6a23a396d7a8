"""The workspace itself: init, status, doctor, settings, plugins and completion."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from looseleaf import __version__, settings
from looseleaf.catalog.page_checks import Finding, check_permissions
from looseleaf.cli.arguments import SharedOptions, require_local, with_shared_options
from looseleaf.cli.command_line import Group, command
from looseleaf.cli.derived_commands import Derivation, ResultTable
from looseleaf.cli.formats import format_count, paint, print_document, print_table
from looseleaf.cli.output import FAILED, escape_line, print_text, say, warn
from looseleaf.errors import InvalidSetting, LooseleafError, WorkspaceMissing
from looseleaf.errors.pages import AgentAmbiguous
from looseleaf.memory.registry import OWNER
from looseleaf.settings import Settings
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.operations.settings import SettingInfo
    from looseleaf.operations.status import StatusInfo
    from looseleaf.plugins.hooks import Plugin
    from looseleaf.workspace import Workspace


NEXT_STEPS = (
    (
        "looseleaf mcp install --client claude-code",
        "your coding agent remembers; --help names others",
    ),
    (
        'looseleaf chat --model echo "Hello"',
        "talk to it; docs/models.md: with a model that answers",
    ),
    ('looseleaf remember "A fact"', "or write down the first fact yourself"),
    ("looseleaf recent", "what was learned lately, and by whom"),
    ("looseleaf memory paths", "where the pages lie: edit them as you like"),
)
LAYER_FOLDERS = ("agents", "network", "shared", "users")


@command("init", "looseleaf init", 'looseleaf init ~/memory --name "The shop" --agent ada')
@click.argument("folder", required=False, type=click.Path(), envvar="LOOSELEAF_ROOT")
@click.option("--name", default="", help="The name of the workspace for people.")
@click.option("--agent", default="", metavar="SLUG", help="The first agent; else main.")
@click.option(
    "--journal/--no-journal",
    default=None,
    help="Whether agents may write their daily journal; asked for at a terminal.",
)
@with_shared_options("format")
def init(
    options: SharedOptions, folder: str | None, name: str, agent: str, *, journal: bool | None
) -> None:
    """Turn a folder into a workspace.

    Without a folder: --root, LOOSELEAF_ROOT or the current folder. Existing files stay as they
    are, so the command can be run again, and on a folder that already has pages.
    """
    from looseleaf.operations.settings import set_setting

    require_local(options, "it makes a folder", by_option=True)
    root = os.path.abspath(os.path.expanduser(options.root or folder or os.getcwd()))
    old_files = _read_change_times(root)
    if journal is None and settings.FILE not in old_files and not options.json:
        journal = _ask_for_journal()
    from looseleaf.workspace import Workspace

    workspace = Workspace.create(root, name=name, agent=agent, journal=bool(journal), surface="cli")
    is_set = journal is not None and settings.FILE in old_files and _differs(workspace, journal)
    if is_set:
        set_setting(workspace.context, "daily_memory_enabled", setting=journal)
    new_files = _read_change_times(root)
    created_paths = sorted(path for path in new_files if path not in old_files)
    if journal:
        _give_journal_to(
            workspace, [path for path in created_paths if not _has_folder(old_files, path)]
        )
    changed_paths = sorted(
        path for path in new_files if old_files.get(path, new_files[path]) != new_files[path]
    )
    if options.json:
        print_document({"root": root, "made": created_paths, "changed": changed_paths})
    elif _print_start(root, created_paths, changed_paths, journal=journal if is_set else None):
        _print_next_steps(workspace, root)
    if settings.FILE in created_paths:
        for finding in check_permissions(root, group_writable=workspace.settings.group_writable):
            if finding.status != "ok":
                warn(f"{finding.detail[:1].upper()}{finding.detail[1:]}. {finding.advice}")
    if name and workspace.settings.name != name:
        warn(f"{settings.FILE} was there already and stays as it is. Set the name in it yourself.")


def _give_journal_to(workspace: Workspace, paths: list[str]) -> None:
    """Put the last days of the journal into the prompts of agents that were just created."""
    for path in paths:
        folder, _, file = path.rpartition("/")
        if file == "agent.json":
            workspace.agents.configure(
                os.path.basename(folder), {"daily_memory": {"enabled": True}}
            )


def _ask_for_journal() -> bool | None:
    """Ask at a terminal whether agents may keep a journal, or None if nobody can be asked."""
    if sys.stdin is None or not sys.stdin.isatty():
        return None
    return click.confirm("May agents write a daily journal here?", default=True, err=True)


def _differs(workspace: Workspace, journal: bool) -> bool:  # noqa: FBT001 - its only argument
    """Return whether the setting of the journal differs; the database may have set it."""
    return workspace.database.settings().daily_memory_enabled != journal


def _has_folder(old_files: dict[str, int], path: str) -> bool:
    """Return whether the folder of a path had files before."""
    folder = os.path.dirname(path)
    return any(old_path.startswith(f"{folder}/") for old_path in old_files)


def _print_start(
    root: str, created_paths: list[str], changed_paths: list[str], *, journal: bool | None
) -> bool:
    """Print the paths that changed; return whether any path changed."""
    if journal is not None:
        say(f"Agents may {'write' if journal else 'no longer write'} their daily journal here.")
    if not created_paths and not changed_paths:
        outcome = "nothing was changed" if journal is None else "no file was changed"
        say(f"{root} is a workspace already; {outcome}.")
        return False
    is_new = settings.FILE in created_paths
    say(f"Made a workspace in {root}" if is_new else f"Completed the workspace in {root}")
    for path in created_paths:
        say(f"  {path}")
    for path in changed_paths:
        say(f"  {path} (made anew)")
    return True


def _print_next_steps(workspace: Workspace, root: str) -> None:
    """Print commands that work as printed, also in a workspace with several agents."""
    say()
    say("Next:")
    if settings.find_root() != root:
        say(f"  cd {shlex.quote(root)}")
    try:
        workspace.agents.resolve(None)
    except AgentAmbiguous as error:
        line = f"looseleaf settings set default_agent {error.candidates[0]}"
        say(f"  {line:<44} or another of your agents: who is meant if none is named")
    for line, purpose in NEXT_STEPS:
        say(f"  {line:<44} {purpose}".rstrip())


def _read_change_times(root: str) -> dict[str, int]:
    """Return the time of the last change of the settings file and of every file of the layers."""
    change_times = {}
    paths = [f"{root}/{settings.FILE}"]
    for layer in LAYER_FOLDERS:
        for folder, _, names in os.walk(f"{root}/{layer}"):
            paths += [f"{folder}/{name}" for name in names]
    for path in paths:
        try:
            change_times[os.path.relpath(path, root)] = os.lstat(path).st_mtime_ns
        except OSError:
            continue  # it does not exist, or was removed meanwhile
    return change_times


@command("completion", "looseleaf completion bash", "looseleaf completion fish")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@with_shared_options()
def completion(options: SharedOptions, shell: str) -> None:
    """Print the script that completes commands in a shell.

    \b
    Install it once:
      bash  looseleaf completion bash > ~/.looseleaf-complete.bash
            echo '. ~/.looseleaf-complete.bash' >> ~/.bashrc
      zsh   looseleaf completion zsh > ~/.looseleaf-complete.zsh
            echo '. ~/.looseleaf-complete.zsh' >> ~/.zshrc
      fish  looseleaf completion fish > ~/.config/fish/completions/looseleaf.fish

    It completes commands, options, agents and pages.
    """
    require_local(options, "it prints a script for this shell", by_option=True)
    complete = get_completion_class(shell)
    if complete is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    top = click.get_current_context().find_root().command
    print_text(complete(top, {}, "looseleaf", "_LOOSELEAF_COMPLETE").source())


_PROBE_SECONDS = 1.0
_PROBE_BYTES = 10_000


@command("status", "looseleaf status", "looseleaf status --agent ada --format json")
@with_shared_options("agent", "format")
def status(options: SharedOptions) -> None:
    """Show the workspace, agent, server and version in use.

    Also how the workspace was found, and whether its server is running.
    """
    from looseleaf.operations.status import show_status

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
    """Return which rule found the workspace."""
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
    """Return the address of a Looseleaf server that listens where the settings say; else ""."""
    import http.client

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


_STATUSES = {"ok": "ok", "warning": "WARNING", "fault": "FAULT"}
_COLORS = {"ok": "green", "warning": "yellow", "fault": "red"}


@command("doctor", "looseleaf doctor", "looseleaf doctor --verify --format json")
@click.option("--verify", is_flag=True, help="Read every page and version, check every hash.")
@with_shared_options("format")
def doctor(options: SharedOptions, *, verify: bool) -> None:
    """Check the workspace, and say what to do.

    Checks the folder, its disk and permissions, locks, the index, the database and the agents.
    Exits with 1 if there is a fault, and with 0 if there are only warnings.
    """
    from looseleaf.operations.doctor import check_workspace

    require_local(options, "it looks at the disk; run it on the machine of the workspace")
    try:
        findings = check_workspace(options.open(), verify=verify)
    except WorkspaceMissing:
        raise
    except LooseleafError as error:
        findings = [
            Finding("opening", "fault", str(error), "Repair this first, then run the doctor again.")
        ]
    faults = sum(finding.status == "fault" for finding in findings)
    if options.json:
        print_document(
            {"healthy": not faults, "findings": [as_dict(finding) for finding in findings]}
        )
    else:
        _print_findings(findings)
        say(_summarize_findings(findings))
    if faults:
        raise click.exceptions.Exit(FAILED)


def _summarize_findings(findings: Iterable[Finding]) -> str:
    statuses = [finding.status for finding in findings]
    faults, warnings = statuses.count("fault"), statuses.count("warning")
    if not faults and not warnings:
        return "Everything is in order."
    counts = [format_count(faults, "fault")] if faults else ["No fault"]
    return f"{', '.join([*counts, *([format_count(warnings, 'warning')] if warnings else [])])}."


def _print_findings(findings: Iterable[Finding]) -> None:
    for finding in findings:
        status = paint(f"{_STATUSES[finding.status]:<7}", _COLORS[finding.status])
        print_text(f"{status}  {escape_line(f'{finding.check}: {finding.detail}')}\n")
        if finding.advice:
            say(f"         {finding.advice}")


_settings = Derivation("settings", "looseleaf.operations.settings")


@_settings.shown("list", "list_settings", "", "--format json", key="settings")
def list_settings(infos: list[SettingInfo]) -> None:
    """List every setting and where it comes from."""
    _SETTINGS(infos)
    plugin_names = [f"{info.name} ({info.owner})" for info in infos if info.owner != OWNER]
    if plugin_names:
        say()
        say(f"Settings of plugins: {', '.join(plugin_names)}.")
    pending_names = [info.name for info in infos if info.restart_needed]
    if pending_names:
        say()
        say(f"Changed in the file since the server started: {', '.join(pending_names)}.")
        say("Restart the server to apply them.")


_SETTINGS = ResultTable(
    "setting=name is from=source changes_apply",
    cells={
        "is": lambda info: _as_json(info.setting),
        "changes_apply": lambda info: "at once" if info.runtime else "at restart",
    },
    shrink="IS",
)


def _print_setting(info: SettingInfo) -> None:
    say(f"{info.name} = {_as_json(info.setting)} ({info.source})")
    if info.restart_needed:
        say("Commands use it from now on; a running server takes it at its next start.")


@command("get", "looseleaf settings get default_agent", "looseleaf settings get name --format json")
@click.argument("name")
@with_shared_options("format")
def get_setting(options: SharedOptions, name: str) -> None:
    """Show one setting and where it comes from."""
    from looseleaf.cli.suggestions import find_alike
    from looseleaf.operations import settings as operations

    infos = {info.name: info for info in operations.list_settings(options.open())}
    if name not in infos:
        alike = find_alike(name, infos)
        advice = f"the nearest is {alike}" if alike else "looseleaf settings list shows all"
        raise InvalidSetting(name, f"there is no such setting; {advice}")
    if options.json:
        print_document(as_dict(infos[name]))
    else:
        say(f"{name} = {_as_json(infos[name].setting)} ({infos[name].source})")


set_setting = _settings.derive(
    "set",
    "set_setting",
    "daily_memory_enabled true",
    "default_agent ada",
    help="""Change a setting.

    Those that can be changed while the server runs apply at once, to agents and people on the
    network. Others are written to looseleaf.toml.
    """,
    parameters={"setting": "VALUE"},
    prepare=lambda arguments, given: arguments.update(setting=_parse_argument(given["setting"])),
    show=_print_setting,
)
unset_setting = _settings.derive(
    "unset",
    "set_setting",
    "daily_memory_enabled",
    help="Return to the value of the settings file, or to the default.",
    parameters={"setting": None},
    prepare=lambda arguments, _given: arguments.update(setting=None),
    show=_print_setting,
)


def _parse_argument(text: str) -> str | float:
    try:
        data: object = json.loads(text)
    except ValueError:
        return text
    return data if isinstance(data, str | bool | int | float) else text


def _as_json(setting: object) -> str:
    return json.dumps(setting, ensure_ascii=False)


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


settings_group = Group(
    "settings",
    "The settings, their sources, and changes while the server runs.",
    *(list_settings, get_setting, set_setting, unset_setting),
)
plugins_group = Group("plugins", "The plugins of the workspace.", list_plugins)
