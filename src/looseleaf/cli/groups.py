"""The classes of commands and groups: lazy imports, examples, content that begins with a dash."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from looseleaf import __version__
from looseleaf.cli.argv import FLAGS, SHARED_OPTIONS, split_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from click.shell_completion import CompletionItem


# Every command accepts --version; only the top-level help lists the option.
version_option = partial(
    click.version_option, __version__, prog_name="looseleaf", message="%(prog)s %(version)s"
)


class Entry(NamedTuple):
    """A command as its group lists it, before its module is imported."""

    module: str
    attribute: str
    summary: str


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
                ctx.fail(_describe_unknown("option", name, takes_value))
            if takes_value.get(option):
                ctx.fail(f"Option {option!r} needs a value.")
        return super().parse_args(ctx, [*options, "--", *content])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Show the examples as they are typed."""
        _write_lines(formatter, "Examples", self.examples)


class Group(click.Group):
    """A group that lists its commands by name and summary, and imports a command only to run it."""

    def __init__(self, name: str, entries: dict[str, Entry], help: str, notes: str = "") -> None:  # noqa: A002 - click's word
        super().__init__(name, help=help)
        self.entries = entries
        self.notes = notes
        version_option(hidden=not notes)(self)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands in the order of the table."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        module = __import__(f"looseleaf.cli.{entry.module}", fromlist=[entry.attribute])
        command_object: click.Command = getattr(module, entry.attribute)
        return command_object

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest a similar one."""
        if args[0] not in self.entries and not ctx.resilient_parsing:
            ctx.fail(_describe_unknown("command", args[0], self.entries))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer commands from the table, importing none of them."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem

        return [
            CompletionItem(name, help=entry.summary)
            for name, entry in self.entries.items()
            if name.startswith(incomplete)
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help where no command is named."""
        if (not args or args[0] == "-h") and not ctx.resilient_parsing:
            args = ["--help"]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, importing none of them."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.entries[name].summary) for name in self.list_commands(ctx)]
            )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Print the notes about all commands."""
        for paragraph in self.notes.strip("\n").split("\n\n") if self.notes else ():
            title, *lines = paragraph.split("\n")
            _write_lines(formatter, title.rstrip(":"), tuple(lines))


class DefaultGroup(Group):
    """A group that runs the first command of its table where no command is named.

    The help of the group shows the arguments and options of that command, too.
    """

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show the usage with a command, or with the arguments of the first command."""
        pieces = self._resolve_default_command(ctx).collect_usage_pieces(ctx)
        return [*pieces, "| COMMAND …"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options of the first command, then the commands."""
        click.Command.format_options(self._resolve_default_command(ctx), ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the examples of the first command."""
        self._resolve_default_command(ctx).format_epilog(ctx, formatter)

    def _resolve_default_command(self, ctx: click.Context) -> click.Command:
        command = self.get_command(ctx, next(iter(self.entries)))
        if command is None:
            raise ValueError(f"the group {self.name} has no command")
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the command behind the options that may precede it."""
        index = 0
        while index < len(args) and args[index].partition("=")[0] in SHARED_OPTIONS:
            index += 1 if "=" in args[index] or args[index] in FLAGS else 2
        word = args[index] if index < len(args) else ""
        if ctx.resilient_parsing and not word:
            return super().parse_args(ctx, args)  # complete the commands of the group
        if word in self.entries:
            args = [word, *args[:index], *args[index + 1 :]]
        elif word not in ("-h", "--help", "--version"):
            args = [next(iter(self.entries)), *args]
        return super().parse_args(ctx, args)


def _describe_unknown(kind: str, name: str, names: Iterable[str]) -> str:
    import difflib

    matches = difflib.get_close_matches(name, names, 1)
    return f"No such {kind} {name!r}." + (f" Did you mean {matches[0]}?" if matches else "")


def _write_lines(formatter: click.HelpFormatter, title: str, lines: tuple[str, ...]) -> None:
    if lines:
        with formatter.section(title):
            for line in lines:
                formatter.write(f"{'':{formatter.current_indent}}{line.strip()}\n")


def command(name: str, *examples: str) -> Callable[[Callable[..., object]], Command]:
    """Turn a function into a command; its docstring is the help, followed by the examples."""

    def make(function: Callable[..., object]) -> Command:
        new_command = click.command(name, cls=Command)(function)
        new_command.examples = examples
        version_option(hidden=True)(new_command)
        return new_command

    return make
