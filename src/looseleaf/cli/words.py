"""The words of a command line: which are commands, which are options, which are content.

No option has a short form, so a word that begins with one dash is always content.
"""

from __future__ import annotations

from itertools import pairwise

from looseleaf.memory.scope import PAGE_SUFFIXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GROUPS = {("memory",), ("memory", "daily"), ("prompt",), ("agents",), ("plugins",)}
GROUPS |= {("users",), ("grants",), ("tokens",), ("settings",), ("audit",), ("tools",)}
# The options that many commands take; they may stand before the command too.
EVERYWHERE = {"--actor", "--agent", "--format", "--layer", "--reason", "--root", "--user"}
EVERYWHERE |= {"--remote", "--token", "--token-file", "--insecure"}
FLAGS = {"--insecure"}  # those of them that take no value


def arranged(argv: list[str]) -> list[str]:
    """Put options that stand before the command behind it, where each command knows its own."""
    path: list[str] = []
    early: list[str] = []
    at = 0
    while at < len(argv):
        name, equals, _ = argv[at].partition("=")
        if name in EVERYWHERE:
            width = 1 if equals or name in FLAGS else 2
            early += argv[at : at + width]
            at += width
        elif (*path, name) in GROUPS and not equals:
            path.append(name)
            at += 1
        else:
            break
    command, rest = argv[at : at + 1], argv[at + 1 :]
    if not command or command[0].startswith("-"):
        early = []  # --help and --version, which groups answer, need none of them
    return [*path, *command, *early, *rest]


def separate(words: list[str], known: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """Tell options from content; each option that has a value comes out as `--name=value`.

    `known` says of each option whether it takes a value. What only looks like an option is one too:
    a misspelled option must not end up in someone's memory.
    """
    options: list[str] = []
    content: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        name, equals, _ = word.partition("=")
        at += 1
        if word == "--":
            return options, content + words[at:]
        if not _is_option(name):
            content.append(word)
        elif known.get(name) and not equals and at < len(words):
            options.append(f"{name}={words[at]}")
            at += 1
        else:
            options.append(word)
    return options, content


def _is_option(name: str) -> bool:
    word = name[2:].replace("-", "").replace("_", "")
    return name.startswith("--") and name[2:3].isalpha() and word.isascii() and word.isalnum()


def is_page(word: str) -> bool:
    """Say whether a word names a page; any other word names a section."""
    return word.lower().endswith(PAGE_SUFFIXES)


def named(names: Sequence[str], main: str) -> tuple[str, str | None]:
    """Understand `[FILE|SECTION] [SECTION]`; what is not named is on the main page."""
    if len(names) == 2:
        return names[0], names[1]
    if names and not is_page(names[0]):
        return main, names[0]
    return (names[0] if names else main), None


def wants_json(words: list[str]) -> bool:
    """Say whether the answer was asked for as JSON, even by a command line that is wrong."""
    plain = words[: words.index("--")] if "--" in words else words
    return "--format=json" in plain or ("--format", "json") in pairwise(plain)
