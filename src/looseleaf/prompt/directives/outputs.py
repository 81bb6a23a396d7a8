"""The outputs of a directive: text, data under a label, a file, or a note on what is left out."""

from __future__ import annotations

import json

from looseleaf.errors import Invalid
from looseleaf.values import value

# The order in which pages are kept if room is short: pages of this agent and its person, then
# pages that others wrote, then pages that can be generated again or were never filled in.
OWN_PAGE, OTHER_PAGE, GENERATED_PAGE = 1, 2, 3

TYPE_CHECKING = False
if TYPE_CHECKING:
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


@value(kw_only=True)
class Source:
    """The page a text comes from: its size on disk, and when it last changed, by whom."""

    file: str
    layer: str  # or "pipeline", for reference material
    bytes: int
    changed: str = ""  # a day
    by: str = ""
    comments: int = 0  # the bytes of comments that were left out
    rank: int = OTHER_PAGE  # the lowest is kept first if room is short


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
