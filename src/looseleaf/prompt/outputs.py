"""The outputs of a directive: text, data under a label, a file, or a note on what is left out."""

from __future__ import annotations

import json
import os
import re

from looseleaf.errors import Invalid, InvalidSetting
from looseleaf.memory.store import hash_content
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    Rule = Literal[
        "call_deny",
        "policy_deny",
        "policy_allow_only",
        "call_allow_only",
        "mode",
        "filtered",
        "missing",
        "empty",
        "starter",
        "not_text",
        "unreadable",
        "off",
        "repeated",
        "over_budget",
        "nothing",
        "failed",
    ]


# The order in which pages are kept if room is short: pages of this agent and its person, then
# pages that others wrote, then pages that can be generated again or were never filled in.
OWN_PAGE, OTHER_PAGE, GENERATED_PAGE = 1, 2, 3


@value(kw_only=True)
class Source:
    """The page a text comes from: its size on disk, and when it last changed, by whom."""

    file: str
    layer: str  # or "pipeline", for reference material
    bytes: int
    agent: str = ""  # whose page it is, in a layer where each agent has its own
    changed: str = ""  # a day
    by: str = ""
    comments: int = 0  # the bytes of comments that were left out
    rank: int = OTHER_PAGE  # the lowest is kept first if room is short
    pinned: tuple[str, ...] = ()  # the sections whose lines are the last to be left out


@value
class Text:
    """Words for the model, given as they are; `source` says which page they come from."""

    content: str
    source: Source | None = None

    @staticmethod
    def normal(content: str, source: Source | None) -> tuple[str, Source | None]:
        """Refuse content that is no text, or blank."""
        if not _is_text(content) or not content.strip():
            raise Invalid("A text needs content that is not blank.")
        _require_unicode("A text", content)
        return content, source


@value
class Data:
    """A table or list for the model, under a label of one line."""

    label: str
    data: object

    @staticmethod
    def normal(label: str, data: object) -> tuple[str, object]:
        """Refuse data without a label, or that is no JSON."""
        if not _is_text(label) or not label.strip() or not label.isprintable():
            raise Invalid("Data needs a label of one line.")
        if not isinstance(data, dict | list | tuple):
            raise Invalid(f"The data of {label} is neither a table nor a list.")
        try:
            # A copy, so that a directive cannot change the prompt later by changing its data.
            return label, json.loads(json.dumps(data, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise Invalid(f"The data of {label} is not JSON ({error}).") from error


@value
class File:
    """A file the model is to be given beside the text, such as an image."""

    path: str
    media_type: str
    name: str = ""
    bytes: int = 0

    @staticmethod
    def normal(path: str, media_type: str, name: str, bytes: int) -> tuple[str, str, str, int]:  # noqa: A002
        """Refuse a file without a path or type, and name it after its path."""
        for noun, text in (("path", path), ("media type", media_type)):
            if not _is_text(text) or not text.strip() or not text.isprintable():
                raise Invalid(f"A file needs a {noun}.")
        return path, media_type, name or path.rpartition("/")[2], bytes


@value
class LeftOut:
    """Something that was considered and not given, and the rule that decided; for `explain`."""

    name: str
    rule: Rule
    layer: str = ""
    bytes: int = 0
    detail: str = ""
    source: Source | None = None


def render_output(output: Text | Data | File) -> str:
    """Return an output as the content of a system message."""
    if isinstance(output, Text):
        return output.content
    if isinstance(output, Data):
        json_text = json.dumps(output.data, ensure_ascii=False, indent=2)
        _require_unicode(output.label, json_text)
        return f"{output.label}:\n\n{json_text}"
    size = f", {output.bytes} bytes" if output.bytes else ""
    return f"File {output.name} ({output.media_type}{size}): {output.path}"


def _require_unicode(subject: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Invalid(f"{subject} is not valid Unicode ({error.reason}).") from error


def _is_text(content: object) -> bool:
    return isinstance(content, str)


# A page in a prompt: a labelled block whose end no page can forge.


_SHORTEST = 12
# At the beginning of a line, even if the lines are quoted, indented or a list.
_EDGE = r'(?m)^[\s>*\-\ufeff]*(<page file="[^"\n]*" .*|</page )fence="[0-9a-f]{12,}">\s*$'
_LINE_ENDS = "\r\n?|[\v\f\x85\u2028\u2029]"
_ESCAPES = {"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;"}


def format_block(source: Source, text: str, *, hash: str = "", part: str = "") -> str:  # noqa: A002 - as in the store
    """Wrap a page's text, byte for byte, between two lines that carry the same fence.

    `part` says how much of the page the text is, if it is not all of it.
    """
    mark = choose_fence(text, hash)
    attributes = f"file={_quote(source.file)} layer={_quote(source.layer)}"
    if source.agent:
        attributes += f" agent={_quote(source.agent)}"
    if source.changed:
        attributes += f" changed={_quote(source.changed)}"
    if source.by:
        attributes += f" by={_quote(source.by)}"
    if part:
        attributes += f" part={_quote(part)}"
    size = len(text.encode())
    return f'<page {attributes} bytes="{size}" fence="{mark}">\n{text}\n</page fence="{mark}">'


def holds_block(text: str) -> bool:
    """Return whether a text holds a page as a prompt shows it, or an edge of one."""
    if "fence=" not in text:
        return False
    import re

    return re.search(_EDGE, re.sub(_LINE_ENDS, "\n", text)) is not None


def choose_fence(text: str, hash: str = "") -> str:  # noqa: A002 - as in the store
    """Return a mark that does not occur in a text and stays the same while the text does.

    The mark is the beginning of the text's hash. The author of a page could search for a text that
    holds the beginning of its own hash, so the mark is lengthened until it does not occur.
    """
    digest = hash or hash_content(text.encode())
    while True:
        for length in range(_SHORTEST, len(digest) + 1, 4):
            if digest[:length] not in text:
                return digest[:length]
        digest = hash_content(digest.encode())


def _quote(text: str) -> str:
    # The name of an actor is untrusted text, and a label is one line.
    if not text.isprintable():
        text = "".join(character if character.isprintable() else "?" for character in text)
    for character, escape in _ESCAPES.items():
        if character in text:
            text = text.replace(character, escape)
    return f'"{text}"'


# Counting tokens offline, by a named tokenizer.


ESTIMATE = "estimate"
# Under these names tiktoken keeps the vocabularies that it has downloaded.
VOCABULARIES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}

_PIECES = re.compile(r"[A-Za-z]{1,7}|\d{1,3}|[^\sA-Za-z\d]+|\n+")
_PIECES_PER_TOKEN = 1.09  # measured against o200k_base; most documents are within 10 %


@value
class Tokenizer:
    """A way to count tokens, and its name."""

    name: str
    count: Callable[[str], int]


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text from its words, numbers and signs."""
    return round(len(_PIECES.findall(text)) / _PIECES_PER_TOKEN)


def resolve_tokenizer(name: str = ESTIMATE, folder: str = "") -> Tokenizer:
    """Return the tokenizer of a name; `folder` is where tiktoken keeps its vocabularies."""
    if name == ESTIMATE:
        return Tokenizer(ESTIMATE, estimate_tokens)
    vocabulary = VOCABULARIES.get(name)
    if vocabulary is None:
        names = ", ".join((ESTIMATE, *VOCABULARIES))
        raise InvalidSetting("tokenizer", f"{name!r} is unknown; there are {names}")
    # tiktoken would download a missing vocabulary, and Looseleaf makes no request unasked.
    if not folder or not os.path.isfile(os.path.join(folder, vocabulary)):
        raise InvalidSetting(
            "tokenizer", f"the vocabulary of {name} is not in TIKTOKEN_CACHE_DIR ({folder or '-'})"
        )
    return Tokenizer(name, _open_tiktoken(name))


def _open_tiktoken(name: str) -> Callable[[str], int]:
    from looseleaf.extras import TOKENS, require_extra

    with require_extra(TOKENS, f"The tokenizer {name}"):
        import tiktoken
    encoding = tiktoken.get_encoding(name)
    return lambda text: len(encoding.encode(text, disallowed_special=()))
