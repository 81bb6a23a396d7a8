"""Arguments that commands share: whose page, how to answer, who changes it and why, its content."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from looseleaf import settings
from looseleaf.cli.output import show_progress
from looseleaf.cli.words import is_page
from looseleaf.errors import Invalid, LooseleafError, NotText
from looseleaf.memory.scope import LAYERS
from looseleaf.operations.context import Where
from looseleaf.operations.memory import MAIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

    from looseleaf.operations.context import Context
    from looseleaf.workspace import Workspace

    Function = Callable[..., object]
    Names = Callable[[Context, "Asked"], list[str]]


_PATIENCE = 2.0  # whoever presses a key does not wait longer


class Asked:
    """What the options that many commands share were set to."""

    root: str | None = None
    agent: str | None = None
    user: int | None = None
    layer: str | None = None
    format: str = "table"
    actor: str | None = None
    reason: str | None = None
    remote: str | None = None
    token: str | None = None
    token_file: str | None = None
    insecure: bool = False
    patience: float | None = None  # how many seconds a server may take; else as set

    @property
    def json(self) -> bool:
        """Whether a program is to read the answer."""
        return self.format == "json"

    @property
    def where(self) -> Where:
        """Whose pages are meant."""
        return Where(self.agent, self.user, self.layer)

    @property
    def server(self) -> str:
        """The address of the server that is meant; "" for a workspace on this machine."""
        if self.remote is not None and self.root is not None:
            raise click.UsageError("--remote and --root name two places. Leave one out.")
        if self.remote is None and self.root is not None:
            return ""
        return settings.variable(settings.REMOTE) if self.remote is None else self.remote

    def workspace(self) -> Workspace:
        """Open the workspace that is meant."""
        from looseleaf.workspace import Workspace

        workspace = Workspace.open(self.root, surface="cli")
        workspace.progress = show_progress
        return workspace

    def open(self) -> Context:
        """Open the workspace that is meant, as its operator, or the way to a server."""
        if self.server or self.remote is not None:
            from looseleaf.cli.remote import open_remote

            return open_remote(self)
        if self.token is not None or self.token_file is not None:
            raise click.UsageError("A token is for a server: name it by --remote.")
        return self.workspace().acting(actor=self.actor or "", reason=self.reason or "")


def _offered(ctx: click.Context, incomplete: str, names: Names) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    asked = ctx.ensure_object(Asked)
    asked.patience = _PATIENCE
    try:
        found = names(asked.open(), asked)
    except LooseleafError:
        return []  # a shell that waits for an answer is no place for an error
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def complete_agents(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the slugs of agents."""
    from looseleaf.operations.agents import list_agents

    def slugs(context: Context, _asked: Asked) -> list[str]:
        return [one.slug for one in list_agents(context)]

    return _offered(ctx, incomplete, slugs)


def complete_pages(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the names of pages."""
    from looseleaf.operations.files import list_files

    def pages(context: Context, asked: Asked) -> list[str]:
        return [page.file for page in list_files(context, where=asked.where)]

    return _offered(ctx, incomplete, pages)


def _keep(ctx: click.Context, param: click.Parameter, given: object) -> None:
    if given is not None:
        setattr(ctx.ensure_object(Asked), str(param.name), given)


_option = partial(click.option, callback=_keep, expose_value=False)
_LAYERS = f"{', '.join(LAYERS[:-1])} or {LAYERS[-1]}; else where the page belongs."
_OPTIONS = {
    "agent": _option(
        "--agent", metavar="ID|SLUG", help="Which agent's pages.", shell_complete=complete_agents
    ),
    "user": _option("--user", metavar="ID", type=int, help="Which user's pages."),
    "layer": _option("--layer", metavar="LAYER", type=click.Choice(LAYERS), help=_LAYERS),
    "format": _option(
        "--format", type=click.Choice(["table", "json"]), help="For people or for programs."
    ),
    "actor": _option("--actor", metavar="NAME", help="Who makes the change, for the history."),
    "reason": _option("--reason", metavar="TEXT", help="Why, for the history."),
    "root": _option(
        "--root", metavar="FOLDER", type=click.Path(), help="The workspace; else found from here."
    ),
    "remote": _option("--remote", metavar="URL", help="A server instead; see looseleaf --help."),
    "token": _option("--token", metavar="TOKEN", hidden=True, help="What to show the server."),
    "token_file": _option(
        "--token-file", metavar="FILE", type=click.Path(), hidden=True, help="Where the token is."
    ),
    "insecure": _option(
        "--insecure", is_flag=True, hidden=True, help="Plain http to another machine, too."
    ),
}
_PLACE = ("root", "remote", "token", "token_file", "insecure")
PAGE = ("agent", "user", "layer", "format")
CHANGE = (*PAGE, "actor", "reason")


def shared(*names: str) -> Callable[[Function], Function]:
    """Give a command some of the shared options, those of the place always, and what they say."""

    def decorate(function: Function) -> Function:
        decorated: Function = click.make_pass_decorator(Asked, ensure=True)(function)
        for name in reversed((*names, *_PLACE)):
            decorated = _OPTIONS[name](decorated)
        return decorated

    return decorate


def local(asked: Asked, why: str, *, named: bool = False) -> None:
    """Refuse a command that can only be local where a server is meant, or only where it is named.

    What needs no workspace to be found goes by the option alone.
    """
    if asked.remote if named else asked.server:
        command = click.get_current_context().command_path
        raise Invalid(
            f"{command} is for a workspace on this machine, not for a server (--remote, "
            f"{settings.REMOTE}): {why}."
        )


class Target(NamedTuple):
    """What a command is to change: a whole page, or a section by name or position."""

    file: str
    section: str | None
    position: int | None

    @property
    def whole(self) -> bool:
        """Whether the whole page is meant."""
        return self.section is None and self.position is None

    @property
    def title(self) -> str:
        """The target as a sentence names it."""
        if self.whole:
            return self.file
        name = f'"{self.section}"' if self.section is not None else f"section {self.position}"
        return f"{name} in {self.file}"


def target(names: tuple[str, ...], *, page: bool, position: int | None) -> Target:
    """Understand `SECTION`, `FILE SECTION`, `FILE --page` or `FILE --position N`."""
    if len(names) > 2:
        raise click.UsageError(
            "Too many arguments: a page and a section are enough to name a place."
        )
    if len(names) == 2 and not is_page(names[0]):
        raise click.UsageError(
            f"{names[0]!r} is not a page, so the arguments after it have no meaning. "
            "A page ends in .md, .markdown or .txt."
        )
    named_page = bool(names) and is_page(names[0])
    if page:
        if len(names) != 1 or not named_page or position is not None:
            raise click.UsageError("--page means a whole page: give its name, and no section.")
        return Target(names[0], None, None)
    section = names[-1] if names and (len(names) == 2 or not named_page) else None
    if section is None and position is None:
        if named_page:
            raise click.UsageError(
                f"Which section of {names[0]}? Name it after the page, or add --page for all of it."
            )
        raise click.UsageError("Which section? Name it, or add --position.")
    return Target(names[0] if named_page else MAIN, section, position)


def with_content(
    words: tuple[str, ...], from_file: str | None, *, may_be_empty: bool = False
) -> tuple[tuple[str, ...], Callable[[], str]]:
    """Tell the names from the content; the content is read when everything else is known."""
    from_stdin = partial(_from_stdin, may_be_empty=may_be_empty)
    if from_file is None:
        if not words:
            raise click.UsageError(
                "Missing content. Give it last, or - for standard input, or --from-file."
            )
        *names, last = words
        return tuple(names), (from_stdin if last == "-" else lambda: last)
    if words and words[-1] == "-":
        raise click.UsageError("Standard input and --from-file cannot both be the content.")
    if len(words) > 2 or (len(words) == 2 and not is_page(words[0])):
        raise click.UsageError("The content is given twice: as an argument and by --from-file.")
    return words, (from_stdin if from_file == "-" else lambda: _from_file(from_file))


def take_stdin(what: str) -> None:
    """Claim standard input for one thing; it cannot be two."""
    if sys.stdin is None:
        raise Invalid(f"Standard input is closed, so there is no {what} to read from it.")
    taken = click.get_current_context().meta.setdefault("looseleaf.stdin", what)
    if taken != what:
        raise click.UsageError(f"Standard input cannot be both the {taken} and the {what}.")


def _from_stdin(*, may_be_empty: bool) -> str:
    take_stdin("content")
    if sys.stdin.isatty():
        click.echo("Reading from the terminal; end with Ctrl-D on a line of its own.", err=True)
    content = sys.stdin.buffer.read()
    if not content and not may_be_empty:
        # Most likely the program before the pipe has failed.
        raise Invalid(
            "Standard input has nothing, so nothing was written. To empty a page on purpose: "
            "looseleaf memory clear, or write with --allow-shrink."
        )
    return _decoded("Standard input", content)


def _from_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return _decoded(path, file.read())
    except OSError as error:
        raise Invalid(f"{path!r} cannot be read: {error.strerror}.") from error


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise NotText(name, error.start) from error


def confirmed(question: str, *, yes: bool) -> None:
    """Go on only if the operator agrees, by --yes or at the terminal."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise Invalid("This needs a yes, and there is no terminal to ask at. Add --yes.")
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        raise KeyboardInterrupt from None
    if not agreed:
        raise click.ClickException("Nothing was done.")
