"""Options and arguments that commands share: owner of a page, server, format, reason, content."""

from __future__ import annotations

import json
import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import click

from looseleaf import settings
from looseleaf.catalog.signature import with_origin
from looseleaf.cli.argv import is_page
from looseleaf.cli.output import show_progress
from looseleaf.errors import Invalid, InvalidSetting, LooseleafError
from looseleaf.errors.operations import Unauthenticated
from looseleaf.errors.pages import NotText
from looseleaf.memory.pages import MAIN
from looseleaf.memory.provenance import STATED_BY_PEOPLE
from looseleaf.memory.scope import LAYERS, Where
from looseleaf.times import DAY_SECONDS
from looseleaf.values import Secret

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from click.shell_completion import CompletionItem

    from looseleaf.catalog.context import Context
    from looseleaf.workspace import Workspace

    Function = Callable[..., object]
    Names = Callable[[Context, "SharedOptions"], list[str]]


TOKEN, TIMEOUT = "LOOSELEAF_TOKEN", "LOOSELEAF_TIMEOUT"
_MOST_TOKEN = 10_000
_HINT = (
    "The server needs a token. Create one where the workspace is (looseleaf tokens create), and "
    "set LOOSELEAF_TOKEN to it, or give --token-file FILE"
)
_PATIENCE = 2.0  # seconds; a person who completes a word does not wait longer


class SharedOptions:
    """The values of the options that many commands share."""

    root: str | None = None
    agent: str | None = None
    user: int | None = None
    layer: str | None = None
    format: str = "table"
    actor: str | None = None
    reason: str | None = None
    origin: str | None = None
    remote: str | None = None
    token: str | None = None
    token_file: str | None = None
    insecure: bool = False
    patience: float | None = None  # the time limit of a server, in seconds; else the setting

    @property
    def json(self) -> bool:
        """Whether the output is JSON for a program."""
        return self.format == "json"

    @property
    def where(self) -> Where:
        """The owner of the pages."""
        return Where(self.agent, self.user, self.layer)

    @property
    def server(self) -> str:
        """The address of the server; "" for a workspace on this machine."""
        if self.remote is not None and self.root is not None:
            raise click.UsageError("--remote and --root name two workspaces. Leave one out.")
        if self.remote is None and self.root is not None:
            return ""
        return settings.read_variable(settings.REMOTE) if self.remote is None else self.remote

    def workspace(self) -> Workspace:
        """Open the workspace of the options."""
        from looseleaf.workspace import Workspace

        workspace = Workspace.open(self.root, surface="cli")
        workspace.show_progress = show_progress
        return workspace

    def open(self) -> Context:
        """Open the workspace as its operator, or the connection to a server."""
        if self.server or self.remote is not None:
            if self.actor is not None:
                advice = "--actor cannot be chosen on a server: the token names the actor."
                raise click.UsageError(advice)
            return _open_remote(self)
        if self.token is not None or self.token_file is not None:
            raise click.UsageError("A token is for a server: name the server by --remote.")
        context = self.workspace().acting(actor=self.actor or "", reason=self.reason or "")
        return with_origin(context, self.origin)


def _open_remote(options: SharedOptions) -> Context:
    """Return the remote context with which operations run on a server."""
    from looseleaf.remote.address import parse_address
    from looseleaf.remote.connection import ServerConnection
    from looseleaf.remote.context import Remote

    address = parse_address(options.server, insecure=options.insecure)
    connection = ServerConnection(
        address, _read_token(options), seconds=options.patience or _read_timeout()
    )
    # Operations accept a Remote in place of a Context; it has no parts of a workspace.
    remote = Remote(connection, reason=options.reason or "", origin=options.origin or "")
    return cast("Context", remote)


def _read_token(options: SharedOptions) -> Secret:
    if options.token is not None and options.token_file is not None:
        raise click.UsageError("The token is given twice: by --token and by --token-file.")
    path = options.token_file
    if path is not None:
        token = _read_token_from_stdin() if path == "-" else _read_token_file(path)
    else:
        token = options.token if options.token is not None else settings.read_variable(TOKEN)
    token = token.strip()
    if not token:
        raise Unauthenticated(_HINT)
    return Secret(token)


def _read_token_from_stdin() -> str:
    take_stdin("token")
    if sys.stdin.isatty():
        token: str = click.prompt("Token", hide_input=True, err=True)
        return token
    return sys.stdin.readline(_MOST_TOKEN)


def _read_token_file(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read(_MOST_TOKEN)
    except OSError as error:
        raise Invalid(f"{path!r} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise Invalid(f"There is no token in {path!r}: the file is not plain text.") from None


def _read_timeout() -> float:
    from looseleaf.remote.connection import SECONDS

    timeout = settings.read_variable(TIMEOUT)
    try:
        seconds = float(timeout or SECONDS)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= DAY_SECONDS:
        raise InvalidSetting(TIMEOUT, "it must be a number of seconds")
    return seconds


def take_stdin(purpose: str) -> None:
    """Claim standard input for one purpose; a second claim is refused."""
    if sys.stdin is None:
        raise Invalid(f"Standard input is closed, so there is no {purpose} to read from it.")
    claim = click.get_current_context().meta.setdefault("looseleaf.stdin", purpose)
    if claim != purpose:
        raise click.UsageError(f"Standard input cannot be both the {claim} and the {purpose}.")


def _complete(ctx: click.Context, incomplete: str, names: Names) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    options = ctx.ensure_object(SharedOptions)
    options.patience = _PATIENCE
    try:
        choices = names(options.open(), options)
    except LooseleafError:
        return []  # a shell cannot show an error while it completes a word
    return [CompletionItem(name) for name in choices if name.startswith(incomplete)]


def complete_agents(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the slugs of agents."""
    from looseleaf.operations.agents import list_agents

    def list_slugs(context: Context, _options: SharedOptions) -> list[str]:
        return [agent.slug for agent in list_agents(context)]

    return _complete(ctx, incomplete, list_slugs)


def complete_pages(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the names of pages."""
    from looseleaf.operations.files import list_files

    def list_pages(context: Context, options: SharedOptions) -> list[str]:
        return [page.file for page in list_files(context, where=options.where)]

    return _complete(ctx, incomplete, list_pages)


class NumberRange(click.IntRange):
    """A whole number within bounds; the message of a wrong one says the bounds."""

    def __init__(self, least: int, most: int | None = None) -> None:
        super().__init__(least, most)
        bounds = f"from {least} to {most}" if most is not None else f"of at least {least}"
        self.name = f"whole number {bounds}"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        """Return the letter that stands for the number in a help."""
        return "N"


def _store_option(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value is not None:
        setattr(ctx.ensure_object(SharedOptions), str(param.name), value)


_option = partial(click.option, callback=_store_option, expose_value=False)
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
    "origin": _option(
        "--origin",
        metavar="ORIGIN",
        type=click.Choice(STATED_BY_PEOPLE),
        help=f"Where the text is from, for the history: {', '.join(STATED_BY_PEOPLE)}.",
    ),
    "root": _option(
        "--root",
        metavar="FOLDER",
        type=click.Path(),
        help="The workspace; else found from this folder.",
    ),
    "remote": _option(
        "--remote", metavar="URL", help="A server instead of a folder; see looseleaf --help."
    ),
    "token": _option("--token", metavar="TOKEN", hidden=True, help="The token for the server."),
    "token_file": _option(
        "--token-file",
        metavar="FILE",
        type=click.Path(),
        hidden=True,
        help="A file with the token.",
    ),
    "insecure": _option(
        "--insecure", is_flag=True, hidden=True, help="Allow plain http to another machine."
    ),
}
_PLACE = ("root", "remote", "token", "token_file", "insecure")
PAGE = ("agent", "user", "layer", "format")
CHANGE = (*PAGE, "actor", "reason", "origin")


def with_shared_options(*names: str) -> Callable[[Function], Function]:
    """Add shared options to a command, always with the options that name the workspace."""

    def decorate(function: Function) -> Function:
        wrapper: Function = click.make_pass_decorator(SharedOptions, ensure=True)(function)
        for name in reversed((*names, *_PLACE)):
            wrapper = _OPTIONS[name](wrapper)
        return wrapper

    return decorate


def require_local(options: SharedOptions, reason: str, *, by_option: bool = False) -> None:
    """Refuse a local command if a server is selected.

    A command that needs no workspace checks the option alone (`by_option`), not the environment.
    """
    if options.remote if by_option else options.server:
        command = click.get_current_context().command_path
        raise Invalid(
            f"{command} is for a workspace on this machine, not for a server (--remote, "
            f"{settings.REMOTE}): {reason}."
        )


class Target(NamedTuple):
    """The target of a change: a whole page, or a section by name or position."""

    file: str
    section: str | None
    position: int | None

    @property
    def whole(self) -> bool:
        """Whether the target is the whole page."""
        return self.section is None and self.position is None

    @property
    def title(self) -> str:
        """The target as it is named in a message."""
        if self.whole:
            return self.file
        name = f'"{self.section}"' if self.section is not None else f"section {self.position}"
        return f"{name} in {self.file}"


def parse_target(names: tuple[str, ...], *, page: bool, position: int | None) -> Target:
    """Parse `SECTION`, `FILE SECTION`, `FILE --page` or `FILE --position N`."""
    if len(names) > 2:
        raise click.UsageError(
            "Too many arguments: a page and a section are enough to name a place."
        )
    if len(names) == 2 and not is_page(names[0]):
        raise click.UsageError(
            f"{names[0]!r} is not a page, so the arguments after it have no meaning. "
            "A page ends in .md, .markdown or .txt."
        )
    has_page = bool(names) and is_page(names[0])
    if page:
        if len(names) != 1 or not has_page or position is not None:
            raise click.UsageError("--page means a whole page: give its name, and no section.")
        return Target(names[0], None, None)
    section = names[-1] if names and (len(names) == 2 or not has_page) else None
    if section is None and position is None:
        if has_page:
            raise click.UsageError(
                f"Which section of {names[0]}? Name it after the page, or add --page for all of it."
            )
        raise click.UsageError("Which section? Name it, or add --position.")
    return Target(names[0] if has_page else MAIN, section, position)


def require_content(words: tuple[str, ...], command_path: str) -> None:
    """Refuse a single word that is meant as a place or as a content: the other one is missing."""
    if len(words) != 1:
        return
    word = shlex.quote(words[0])
    advice = f"looseleaf {command_path} {word} CONTENT"
    if is_page(words[0]):
        raise click.UsageError(f"The content is missing: {advice}")
    raise click.UsageError(
        f"The content is missing, or the section it belongs to: {advice}, or "
        f"looseleaf remember {word}"
    )


def split_content(
    words: tuple[str, ...], from_file: str | None, *, may_be_empty: bool = False
) -> tuple[tuple[str, ...], Callable[[], str]]:
    """Split names and content; the content is read after all other checks."""
    from_stdin = partial(_from_stdin, may_be_empty=may_be_empty)
    if from_file is None:
        if not words:
            raise click.UsageError(
                "Missing content. Give it last, or - for standard input, or --from-file."
            )
        *names, content_word = words
        return tuple(names), (from_stdin if content_word == "-" else lambda: content_word)
    if words and words[-1] == "-":
        raise click.UsageError("Standard input and --from-file cannot both be the content.")
    if len(words) > 2 or (len(words) == 2 and not is_page(words[0])):
        raise click.UsageError("The content is given twice: as an argument and by --from-file.")
    return words, (from_stdin if from_file == "-" else lambda: _from_file(from_file))


def _from_stdin(*, may_be_empty: bool) -> str:
    take_stdin("content")
    if sys.stdin.isatty():
        click.echo("Reading from the terminal; end with Ctrl-D on a line of its own.", err=True)
    content = sys.stdin.buffer.read()
    if not content and not may_be_empty:
        # Most likely the program before the pipe has failed.
        raise Invalid(
            "Standard input is empty, so nothing was written. To empty a page on purpose: "
            "looseleaf memory clear, or write with --allow-shrink."
        )
    return _decode("Standard input", content)


def _from_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return _decode(path, file.read())
    except OSError as error:
        raise Invalid(f"{path!r} cannot be read: {error.strerror}.") from error


def _decode(name: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise NotText(name, error.start) from error


def read_text(text: str) -> str:
    """Return the text of an option; @FILE is the text of a file."""
    if not text.startswith("@"):
        return text
    try:
        with open(text[1:], encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{text[1:]!r} cannot be read: {error}.") from error


def read_object(option: str, text: str) -> dict[str, Any]:
    """Return the JSON object of an option; @FILE is the text of a file."""
    try:
        document = json.loads(read_text(text), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{option} is not JSON: {error}.") from None
    if not isinstance(document, dict):
        raise click.UsageError(f"{option} takes a JSON object, such as {{}}.")
    return document


def refuse_constant(constant: str) -> object:
    """Refuse NaN and its like, which Python reads and JSON does not have."""
    raise ValueError(f"{constant} is no JSON number")


def confirm(question: str, *, yes: bool) -> None:
    """Continue only if the operator agrees, by --yes or at the terminal."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise Invalid("This needs a yes, and there is no terminal to ask at. Add --yes.")
    try:
        is_agreed = click.confirm(question, err=True)
    except click.Abort:
        raise KeyboardInterrupt from None
    if not is_agreed:
        raise click.ClickException("Nothing was done.")
