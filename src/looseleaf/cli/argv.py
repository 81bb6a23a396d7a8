"""The arguments of a command line, sorted into commands, options and content.

No option has a short form, so a word that begins with one dash is always content.
"""

from __future__ import annotations

from itertools import pairwise

from looseleaf.memory.scope import PAGE_SUFFIXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The options that many commands share; a shared option may precede the command.
SHARED_OPTIONS = {
    "--actor",
    "--agent",
    "--format",
    "--layer",
    "--origin",
    "--reason",
    "--root",
    "--user",
}
SHARED_OPTIONS |= {"--remote", "--token", "--token-file", "--insecure"}
FLAGS = {"--insecure"}  # the shared options that take no value


def has_other_bytes(words: list[str]) -> bool:
    """Return whether a word has bytes that are not UTF-8, which Python holds as surrogates."""
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        return True
    return False


def move_options(words: list[str]) -> list[str]:
    """Move shared options that precede a command behind it, if the command parses its own."""
    index = 0
    while index < len(words) and words[index].partition("=")[0] in SHARED_OPTIONS:
        index += 1 if "=" in words[index] or words[index] in FLAGS else 2
    early_options, rest = words[:index], words[index:]
    if not rest or rest[0].startswith("-"):
        return rest  # groups answer --help and --version without these options
    return [rest[0], *early_options, *rest[1:]]


def find_value(words: list[str], option: str) -> str | None:
    """Return the last value of an option among words, or None without one."""
    found = None
    for word, following in pairwise([*words, ""]):
        if word == "--":
            break
        if word == option:
            found = following
        elif word.startswith(f"{option}="):
            found = word.partition("=")[2]
    return found or None


def split_options(words: list[str], takes_value: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """Split options and content; each option with a value becomes `--name=value`.

    `takes_value` says for each option whether it takes a value. A word that only looks like an
    option counts as one: a misspelled option must not end up in someone's memory.
    """
    options: list[str] = []
    content: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        name, equals, _ = word.partition("=")
        index += 1
        if word == "--":
            return options, content + words[index:]
        if not _is_option(name):
            content.append(word)
        elif takes_value.get(name) and not equals and index < len(words):
            options.append(f"{name}={words[index]}")
            index += 1
        else:
            options.append(word)
    return options, content


def _is_option(name: str) -> bool:
    word = name[2:].replace("-", "").replace("_", "")
    return name.startswith("--") and name[2:3].isalpha() and word.isascii() and word.isalnum()


def is_page(word: str) -> bool:
    """Return whether a word names a page; any other word names a section."""
    return word.lower().endswith(PAGE_SUFFIXES)


def parse_page_and_section(names: Sequence[str], main: str) -> tuple[str, str | None]:
    """Parse `[FILE|SECTION] [SECTION]`; a section alone is on the main page."""
    if len(names) == 2:
        return names[0], names[1]
    if names and not is_page(names[0]):
        return main, names[0]
    return (names[0] if names else main), None


def wants_json(words: list[str]) -> bool:
    """Return whether the output is to be JSON, even for a wrong command line."""
    options = words[: words.index("--")] if "--" in words else words
    return "--format=json" in options or ("--format", "json") in pairwise(options)
