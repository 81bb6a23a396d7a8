"""The hot way: a plain `memory read`, with nothing imported that it does not need."""

from __future__ import annotations

from looseleaf import settings
from looseleaf.cli.output import answered, show
from looseleaf.cli.words import named, separate
from looseleaf.memory.scope import LAYERS
from looseleaf.operations.context import Where
from looseleaf.operations.memory import MAIN, read_memory
from looseleaf.workspace import Workspace

_VALUED = ("--agent", "--as-of", "--layer", "--position", "--root", "--user")
_KNOWN = {**dict.fromkeys(_VALUED, True), "--raw": False}
_NUMBERS = ("--position", "--user")


def read(words: list[str]) -> int | None:
    """Run `memory read` with these arguments; None where they are not plain, and click is asked."""
    options, names = separate(words, _KNOWN)
    given = dict(option.partition("=")[::2] for option in options)
    if not _plain(options, given) or len(names) > 2 or words == ["-h"]:
        return None
    if settings.variable(settings.REMOTE) and "--root" not in given:
        return None  # a server is meant
    position, user = (int(given[name]) if name in given else None for name in _NUMBERS)
    where = Where(given.get("--agent"), user, given.get("--layer"))

    def work() -> None:
        context = Workspace.open(given.get("--root"), surface="cli").context
        file, section = named(names, MAIN)
        as_of = given.get("--as-of", "")
        page = read_memory(
            context, file, section=section, position=position, where=where, as_of=as_of
        )
        show(page.raw, exact="--raw" in given)

    return answered(work)


def _plain(options: list[str], given: dict[str, str]) -> bool:
    return (
        all(_KNOWN.get(name) == (f"{name}={text}" in options) for name, text in given.items())
        and all(
            given[name].isascii() and given[name].isdigit() for name in _NUMBERS if name in given
        )
        and given.get("--layer", LAYERS[0]) in LAYERS
    )
