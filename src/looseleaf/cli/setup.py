"""`looseleaf init` and `looseleaf completion`: before the first page."""

from __future__ import annotations

import os
import shlex
import sys

import click
from click.shell_completion import get_completion_class

from looseleaf import settings
from looseleaf.cli.arguments import Asked, local, shared
from looseleaf.cli.formats import print_document
from looseleaf.cli.groups import command
from looseleaf.cli.output import print_text, say, warn
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
@click.option("--name", default="", help="What people call the workspace.")
@click.option("--agent", default="", metavar="SLUG", help="The first agent; else main.")
@click.option(
    "--journal/--no-journal",
    default=None,
    help="Whether agents may write their daily journal; asked for at a terminal.",
)
@shared("format")
def init(asked: Asked, folder: str | None, name: str, agent: str, *, journal: bool | None) -> None:
    """Make a folder a workspace.

    Without a folder: --root, LOOSELEAF_ROOT or the current folder. What is there already stays as
    it is, so it can be run again, and on a folder of pages from elsewhere.
    """
    local(asked, "it makes a folder", named=True)
    root = os.path.abspath(os.path.expanduser(asked.root or folder or os.getcwd()))
    before = _snapshot(root)
    if journal is None and settings.FILE not in before and not asked.json:
        journal = _ask_for_journal()
    workspace = Workspace.create(root, name=name, agent=agent, journal=bool(journal), surface="cli")
    is_set = journal is not None and settings.FILE in before and _is_other(workspace, journal)
    if is_set:
        set_setting(workspace.context, "daily_memory_enabled", setting=journal)
    after = _snapshot(root)
    made = sorted(path for path in after if path not in before)
    if journal:
        _give_journal_to(workspace, [path for path in made if not _has_folder(before, path)])
    changed = sorted(path for path in after if before.get(path, after[path]) != after[path])
    if asked.json:
        print_document({"root": root, "made": made, "changed": changed})
    else:
        _tell(root, made, changed, journal=journal if is_set else None)
    if name and workspace.settings.name != name:
        warn(f"{settings.FILE} was there already and stays as it is. Set the name in it yourself.")


def _give_journal_to(workspace: Workspace, paths: list[str]) -> None:
    """Put the last days into the prompts of the agents that were created just now."""
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


def _is_other(workspace: Workspace, journal: bool) -> bool:  # noqa: FBT001 - its only argument
    """Say whether the journal is not yet as it was asked for; the database may have set it."""
    return workspace.database.settings().daily_memory_enabled != journal


def _has_folder(before: dict[str, int], path: str) -> bool:
    """Say whether the folder of a path had files before."""
    folder = os.path.dirname(path)
    return any(known.startswith(f"{folder}/") for known in before)


def _tell(root: str, made: list[str], changed: list[str], *, journal: bool | None) -> None:
    if journal is not None:
        say(f"Agents may {'write' if journal else 'no longer write'} their daily journal here.")
    if not made and not changed:
        rest = "nothing was changed" if journal is None else "no file was changed"
        say(f"{root} is a workspace already; {rest}.")
        return
    new = settings.FILE in made
    say(f"Made a workspace in {root}" if new else f"Completed the workspace in {root}")
    for path in made:
        say(f"  {path}")
    for path in changed:
        say(f"  {path} (made anew)")
    say()
    say("Next:")
    if settings.find_root() != root:
        say(f"  cd {shlex.quote(root)}")
    for line, purpose in NEXT_STEPS:
        say(f"  {line:<44} {purpose}".rstrip())


def _snapshot(root: str) -> dict[str, int]:
    """Give the time of the last change of the settings and of every file of the layers."""
    found = {}
    walked = [f"{root}/{settings.FILE}"]
    for layer in LAYER_FOLDERS:
        for folder, _, names in os.walk(f"{root}/{layer}"):
            walked += [f"{folder}/{name}" for name in names]
    for path in walked:
        try:
            found[os.path.relpath(path, root)] = os.lstat(path).st_mtime_ns
        except OSError:
            continue  # not there, or gone in between
    return found


@command("completion", "looseleaf completion bash", "looseleaf completion fish")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@shared()
def completion(asked: Asked, shell: str) -> None:
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
    local(asked, "it prints a script for this shell", named=True)
    complete = get_completion_class(shell)
    if complete is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    top = click.get_current_context().find_root().command
    print_text(complete(top, {}, "looseleaf", "_LOOSELEAF_COMPLETE").source())
