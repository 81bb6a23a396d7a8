"""The fast path of a plain `memory read`, with as few imports as possible."""

from __future__ import annotations

from looseleaf import settings
from looseleaf.cli.argv import has_other_bytes, parse_page_and_section, split_options
from looseleaf.cli.output import run_command, show
from looseleaf.memory.pages import MAIN
from looseleaf.memory.scope import LAYERS, Where
from looseleaf.operations.memory import read_memory
from looseleaf.workspace import Workspace

_VALUE_OPTIONS = ("--agent", "--as-of", "--layer", "--position", "--root", "--user")
_OPTIONS = {**dict.fromkeys(_VALUE_OPTIONS, True), "--raw": False}
_NUMBERS = ("--position", "--user")


def read(argv: list[str]) -> int | None:
    """Run `memory read` with these arguments, or None if click must parse them."""
    options, names = split_options(argv, _OPTIONS)
    values = dict(option.partition("=")[::2] for option in options)
    if not _is_plain(options, values) or len(names) > 2 or argv == ["-h"] or has_other_bytes(argv):
        return None
    if settings.read_variable(settings.REMOTE) and "--root" not in values:
        return None  # the workspace is on a server
    position, user = (int(values[name]) if name in values else None for name in _NUMBERS)
    page_owner = Where(values.get("--agent"), user, values.get("--layer"))

    def work() -> None:
        context = Workspace.open(values.get("--root"), surface="cli").context
        file, section = parse_page_and_section(names, MAIN)
        as_of = values.get("--as-of", "")
        page = read_memory(
            context, file, section=section, position=position, where=page_owner, as_of=as_of
        )
        show(page.raw, exact="--raw" in values)

    return run_command(work)


def _is_plain(options: list[str], values: dict[str, str]) -> bool:
    return (
        all(_OPTIONS.get(name) == (f"{name}={text}" in options) for name, text in values.items())
        and all(
            values[name].isascii() and values[name].isdigit() for name in _NUMBERS if name in values
        )
        and values.get("--layer", LAYERS[0]) in LAYERS
    )
