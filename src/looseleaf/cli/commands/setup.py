"""`looseleaf init` and `looseleaf completion`: a new workspace, and completion in a shell."""

from __future__ import annotations

import os
import shlex
import sys

import click
from click.shell_completion import get_completion_class

from looseleaf import settings
from looseleaf.cli.arguments import SharedOptions, require_local, with_shared_options
from looseleaf.cli.formats import print_document
from looseleaf.cli.groups import command
from looseleaf.cli.output import print_text, say, warn
from looseleaf.errors.agents import AgentAmbiguous
from looseleaf.operations.settings import set_setting
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
    ('looseleaf memory append "Facts" "- A fact"', "or write down the first fact yourself"),
    ("looseleaf memory read", ""),
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
    """Make a folder a workspace.

    Without a folder: --root, LOOSELEAF_ROOT or the current folder. Existing files stay as they
    are, so the command can be run again, and on a folder that already has pages.
    """
    require_local(options, "it makes a folder", by_option=True)
    root = os.path.abspath(os.path.expanduser(options.root or folder or os.getcwd()))
    old_files = _read_change_times(root)
    if journal is None and settings.FILE not in old_files and not options.json:
        journal = _ask_for_journal()
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
    elif _print_result(root, created_paths, changed_paths, journal=journal if is_set else None):
        _print_next_steps(workspace, root)
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
    """Ask at a terminal whether agents may keep a journal; None where nobody can be asked."""
    if sys.stdin is None or not sys.stdin.isatty():
        return None
    return click.confirm("May agents write a daily journal here?", default=True, err=True)


def _differs(workspace: Workspace, journal: bool) -> bool:  # noqa: FBT001 - its only argument
    """Say whether the setting of the journal differs; the database may have set it."""
    return workspace.database.settings().daily_memory_enabled != journal


def _has_folder(old_files: dict[str, int], path: str) -> bool:
    """Say whether the folder of a path had files before."""
    folder = os.path.dirname(path)
    return any(old_path.startswith(f"{folder}/") for old_path in old_files)


def _print_result(
    root: str, created_paths: list[str], changed_paths: list[str], *, journal: bool | None
) -> bool:
    """Print the paths that changed; say whether any path changed."""
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
        line = f"export LOOSELEAF_AGENT={error.candidates[0]}"
        say(f"  {line:<44} or another of your agents; default_agent in {settings.FILE} is for good")
    for line, purpose in NEXT_STEPS:
        say(f"  {line:<44} {purpose}".rstrip())


def _read_change_times(root: str) -> dict[str, int]:
    """Give the time of the last change of the settings file and of every file of the layers."""
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
