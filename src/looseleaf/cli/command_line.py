"""The classes of commands and groups: lazy imports, examples, content that begins with a dash."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import click

from looseleaf import __version__
from looseleaf.cli.argv import (
    SHARED_OPTIONS,
    find_value,
    has_other_bytes,
    move_options,
    split_options,
    wants_json,
)
from looseleaf.cli.output import FAILED, USAGE, complain, count_columns, run_command, warn
from looseleaf.errors import LooseleafError, WorkspaceMissing
from looseleaf.plugins.commands import Commands, is_command_name, register_core_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from click.shell_completion import CompletionItem

    from looseleaf.catalog.operation import Operation
    from looseleaf.plugins.commands import RegisteredCommand


# The commands that can be typed: of the core, of features, of plugins, each found when needed.


class CommandTable:
    """The commands of the core, of features and of plugins, each registered when it is needed.

    A command of the core runs without the features, and one of a feature without the plugins. A
    workspace whose plugins cannot be loaded is reported; its other commands are there.
    """

    def __init__(self, root: str | None, report: Callable[[LooseleafError], None]) -> None:
        self._root, self._report = root, report
        self._commands = Commands()
        register_core_commands(self._commands)
        self._next_steps = [self._add_features, self._add_plugins]

    def find(self, name: str) -> RegisteredCommand | None:
        """Find a command by the words that name it."""
        entry = self._commands.find(name)
        while entry is None and self._next_steps and is_command_name(name):
            self._next_steps.pop(0)()
            entry = self._commands.find(name)
        return entry

    def find_operation(self, name: str) -> Operation:
        """Find an operation of the workspace, one of a plugin too."""
        from looseleaf.workspace import Workspace

        return Workspace.open(self._root, surface="cli").operations().find(name)

    def list_below(self, group: str) -> list[RegisteredCommand]:
        """List the commands of a group; those of the whole command line for ""."""
        while self._next_steps:
            self._next_steps.pop(0)()
        return [entry for entry in self._commands.all() if entry.name.rpartition(" ")[0] == group]

    def _add_features(self) -> None:
        from looseleaf.plugins.features import call_features

        call_features("register_commands", commands=self._commands)

    def _add_plugins(self) -> None:
        from looseleaf.plugins.defaults import Defaults
        from looseleaf.plugins.discovery import open_hooks
        from looseleaf.settings import find_root, load

        try:
            hooks = open_hooks(load(find_root(self._root)), Defaults())
            if not hooks.has_only_defaults("register_commands"):
                self._commands = hooks.fill("register_commands", commands=Commands())
        except WorkspaceMissing:
            return  # there is no workspace yet, and init is a command of the core
        except LooseleafError as problem:
            self._report(problem)


_TABLE = "looseleaf.commands"
_DERIVED = "looseleaf.cli.derived_commands:DerivedCommand"  # it imports this module

# Every command accepts --version; only the top-level help lists the option.
version_option = partial(
    click.version_option, __version__, prog_name="looseleaf", message="%(prog)s %(version)s"
)


class Command(click.Command):
    """A command whose content may begin with a dash, and whose help ends with examples."""

    examples: tuple[str, ...] = ()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split options and content, since click would take `- a fact` for an option."""
        if args == ["-h"]:
            args = ["--help"]
        takes_value = {
            name: not option.is_flag
            for option in self.get_params(ctx)
            if isinstance(option, click.Option)
            for name in (*option.opts, *option.secondary_opts)
        }
        options, content = split_options(args, takes_value)
        for option in options if not ctx.resilient_parsing else ():
            name = option.partition("=")[0]
            if name not in takes_value:
                ctx.fail(_describe_unknown_option(name, takes_value))
            if takes_value.get(option):
                ctx.fail(f"Option {option!r} needs a value.")
        is_checked = not ctx.resilient_parsing and has_other_bytes(args)
        if is_checked:
            self._refuse_other_options(ctx, options)
        rest = super().parse_args(ctx, [*options, "--", *content])
        if is_checked:
            self._refuse_other_arguments(ctx)
        return rest

    def _refuse_other_options(self, ctx: click.Context, options: list[str]) -> None:
        """Refuse a text that is not UTF-8; the name of a file may have any bytes."""
        params = {name: param for param in self.get_params(ctx) for name in param.opts}
        for option in options:
            name, _, text = option.partition("=")
            if has_other_bytes([text]) and not _takes_path(params.get(name)):
                raise click.BadParameter(_OTHER_BYTES, ctx, params.get(name))

    def _refuse_other_arguments(self, ctx: click.Context) -> None:
        for param in self.get_params(ctx):
            given = ctx.params.get(param.name or "")
            texts = given if isinstance(given, list | tuple) else (given,)
            texts = [text for text in texts if isinstance(text, str)]
            if has_other_bytes(texts) and not _takes_path(param):
                raise click.BadParameter(_OTHER_BYTES, ctx, param)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Show the examples as they are typed."""
        _write_lines(formatter, "Examples", self.examples)


_OTHER_BYTES = "it has bytes that are not UTF-8, which are no text"


def _takes_path(param: click.Parameter | None) -> bool:
    return param is not None and isinstance(param.type, click.Path | click.File)


class Group(click.Group):
    """A group of commands: its own, and those that are registered below its name.

    Own commands of other modules (`more`, each "module:attribute" of a tuple of commands) and
    registered ones are imported only if a command is not among the first, or for a list.
    """

    def __init__(
        self,
        name: str,
        help: str,  # noqa: A002 - click's word
        *commands: click.Command,
        more: tuple[str, ...] = (),
        summary: str = "",
        notes: str = "",
    ) -> None:
        super().__init__(
            name,
            help=help,
            short_help=summary or None,
            commands={str(entry.name): entry for entry in commands},
        )
        self._more = more
        self._notes = notes
        version_option(hidden=not notes)(self)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command, and import it if it is a registered one."""
        if cmd_name not in self.commands:
            self._import_more()
        own = self.commands.get(cmd_name)
        if own is not None:
            return own
        path = self._path_of(ctx)
        entry = table_of(ctx).find(f"{path} {cmd_name}".lstrip()) if path is not None else None
        if entry is None:
            return None
        if ":" in entry.target:
            command: click.Command = _import(entry.target)
            return command
        derived: click.Command = _import(_DERIVED)(cmd_name, entry.target, help=entry.summary)
        return derived

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands: its own as they are declared, then the registered ones."""
        return list(self._summaries(ctx))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest the one that was meant."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            ctx.fail(self._describe_unknown_command(ctx, args[0]))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands with their summaries."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem

        return [
            CompletionItem(name, help=summary)
            for name, summary in self._summaries(ctx).items()
            if name.startswith(incomplete)
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Allow shared options before the command; show the help if no command is named."""
        args = move_options(args)
        if (not args or args[0] == "-h") and not ctx.resilient_parsing:
            args = ["--help"]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            names = {*SHARED_OPTIONS, "--help", "--version"}
            problem = _describe_unknown_option(error.option_name, names)
            raise click.UsageError(problem, ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, importing none of the registered ones."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries(ctx).items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Print the notes about all commands."""
        for paragraph in self._notes.strip("\n").split("\n\n") if self._notes else ():
            title, *lines = paragraph.split("\n")
            _write_lines(formatter, title.rstrip(":"), tuple(lines))

    def _summaries(self, ctx: click.Context) -> dict[str, str]:
        self._import_more()
        summaries = {name: _summarize(entry) for name, entry in self.commands.items()}
        path = self._path_of(ctx)
        for entry in table_of(ctx).list_below(path) if path is not None else ():
            summaries.setdefault(entry.name.rpartition(" ")[2], entry.summary)
        return summaries

    def _describe_unknown_command(self, ctx: click.Context, name: str) -> str:
        from looseleaf.cli.suggestions import describe_unknown_command

        return describe_unknown_command(name, self._path_of(ctx) or "", self.list_commands(ctx))

    def _import_more(self) -> None:
        for target in self._more:
            commands: tuple[click.Command, ...] = _import(target)
            self.commands.update({str(entry.name): entry for entry in commands})
        self._more = ()

    def _path_of(self, ctx: click.Context) -> str | None:
        """Return the words by which the group is typed, or None if its parent is unknown."""
        words: list[str] = []
        while ctx.parent is not None:
            words.insert(0, ctx.info_name or "")
            ctx = ctx.parent
        return " ".join(words) or None


class TopGroup(Group):
    """The whole command line; all its commands are registered."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Record the workspace, whose plugins may have commands."""
        ctx.meta[_TABLE] = CommandTable(find_value(args, "--root"), _report_problem)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands of a first day, all commands, and then the options."""
        with formatter.section("On the first day"):
            formatter.write_dl(FIRST_DAY, col_max=_WIDEST_COMMAND)
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def _path_of(self, ctx: click.Context) -> str | None:  # noqa: ARG002 - as any group
        return ""


class DefaultGroup(Group):
    """A group that runs its first command if no command is named.

    The help of the group shows the arguments and options of that command, too.
    """

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show the usage with a command, or with the arguments of the first command."""
        pieces = self._default_command.collect_usage_pieces(ctx)
        return [*pieces, "| COMMAND …"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options of the first command, then the commands."""
        click.Command.format_options(self._default_command, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the examples of the first command."""
        self._default_command.format_epilog(ctx, formatter)

    @property
    def _default_command(self) -> click.Command:
        return next(iter(self.commands.values()))

    def _takes_words(self, ctx: click.Context) -> bool:
        params = self._default_command.get_params(ctx)
        return any(isinstance(param, click.Argument) for param in params)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the first command if the words after the shared options name none."""
        word = next(iter(move_options(args)), "")
        if ctx.resilient_parsing and not word:
            return super().parse_args(ctx, args)  # complete the commands of the group
        is_named = word in ("-h", "--help", "--version") or self.get_command(ctx, word) is not None
        if word and not word.startswith("-") and not self._takes_words(ctx):
            is_named = True  # a misspelled command, which is reported as one
        return super().parse_args(
            ctx, args if is_named else [str(self._default_command.name), *args]
        )


def table_of(ctx: click.Context) -> CommandTable:
    """Return the table of the registered commands of this call."""
    if _TABLE not in ctx.meta:
        ctx.meta[_TABLE] = CommandTable(None, _report_problem)
    table: CommandTable = ctx.meta[_TABLE]
    return table


def _report_problem(problem: LooseleafError) -> None:
    warn(f"The commands of plugins are missing: {problem}")


def _import(target: str) -> Any:  # noqa: ANN401 - a command, or a tuple of commands
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def _summarize(entry: click.Command) -> str:
    return entry.short_help or (entry.help or "").partition("\n")[0]


def _describe_unknown_option(name: str, names: Collection[str]) -> str:
    from looseleaf.cli.suggestions import describe_unknown_option

    return describe_unknown_option(name, names)


def _write_lines(formatter: click.HelpFormatter, title: str, lines: tuple[str, ...]) -> None:
    if lines:
        with formatter.section(title):
            for line in lines:
                formatter.write(f"{'':{formatter.current_indent}}{line.rstrip()}\n")


def command(name: str, *examples: str) -> Callable[[Callable[..., object]], Command]:
    """Convert a function into a command; its docstring is the help, followed by the examples."""

    def make(function: Callable[..., object]) -> Command:
        new_command = click.command(name, cls=Command)(function)
        new_command.examples = examples
        version_option(hidden=True)(new_command)
        return new_command

    return make


def build_shortcut(found: Command) -> Command:
    """Return a command of `looseleaf memory` as it is typed without that word."""
    shortcut = type(found).__new__(type(found))
    vars(shortcut).update(vars(found))
    shortcut.examples = tuple(
        example.replace("looseleaf memory ", "looseleaf ") for example in found.examples
    )
    return shortcut


# The whole command line, and the function that runs a command.


HELP_WIDTH = 80
_WIDEST_COMMAND = 40
FIRST_DAY = (
    ("looseleaf init", "Turn this folder into a workspace."),
    ("looseleaf mcp install --client NAME", "Give a coding agent this memory."),
    ('looseleaf remember "A fact"', "Write down a fact."),
    ('looseleaf search "fact"', "Find it again."),
    ("looseleaf recent", "See what was learned lately."),
)
NOTES = """\
Options before or after any command that takes them:
--root FOLDER    the workspace; else LOOSELEAF_ROOT, the nearest above, yours
--agent ID|SLUG  the agent; else LOOSELEAF_AGENT, the default or the only one
--format json    one JSON document instead of text for people
--help           what a command does, with examples

On a server instead of a folder of this machine:
--remote URL       its address; else LOOSELEAF_REMOTE
--token-file FILE  a file with the token, or - for standard input;
                   else LOOSELEAF_TOKEN
--token TOKEN      the token itself, which all users of this machine can see
--insecure         allow plain http to another machine

Exit codes:
0    done
1    failed for another reason
2    wrong usage, or an invalid value
3    not found, or ambiguous
4    refused
5    conflict: the page has changed
6    not available now: locked, disk full
7    a part is not installed: the message has the line to type
130  interrupted"""

looseleaf_command = TopGroup(
    "looseleaf", "Persistent memory for AI agents, kept as Markdown pages.", notes=NOTES
)


def run(argv: list[str]) -> int:
    """Run a command through click, and return its exit code."""
    as_json = wants_json(argv)

    def work() -> int:
        try:
            width = min(count_columns(), HELP_WIDTH)
            if not argv:  # a shell that completes passes no arguments
                looseleaf_command.main([], "looseleaf", standalone_mode=False, terminal_width=width)
                return 0
            with looseleaf_command.make_context("looseleaf", argv, terminal_width=width) as ctx:
                looseleaf_command.invoke(ctx)
        except click.exceptions.Exit as exit_request:
            return exit_request.exit_code
        except click.UsageError as error:
            command_path = error.ctx.command_path if error.ctx else "looseleaf"
            # Choices stand on lines of their own in the messages of click.
            problem = " ".join(error.format_message().split())
            end = "" if problem.endswith((".", "?")) else "."
            complain(f"{problem}{end} Try: {command_path} --help", as_json=as_json)
            return USAGE
        except click.ClickException as error:
            complain(error.format_message(), as_json=as_json)
            return FAILED
        return 0

    return run_command(work, as_json=as_json)
