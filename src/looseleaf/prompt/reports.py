"""Reports about a prompt: an explanation, a comparison, overruns and problems."""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


@value(kw_only=True)
class Candidate:
    """One page, text, table or file that was considered; `rule` says what became of it.

    Bytes, words and tokens are those of its message, so they add up to the whole prompt. `size` is
    the size of a page that was left out.
    """

    priority: int
    directive: str
    kind: str  # page, text, data, file, or directive without output
    name: str
    layer: str
    rule: str
    bytes: int
    words: int
    tokens: int
    size: int = 0
    changed: str = ""
    by: str = ""
    detail: str = ""
    comments: int = 0  # the bytes of comments that were left out of it


@value
class ToolCandidate:
    """One tool that was considered for a conversation; `rule` is `given`, or what left it out."""

    name: str
    rule: str
    actions: tuple[str, ...] = ()  # of a tool with actions, those that the model may choose


@value
class Prefix:
    """The beginning of a prompt that no change of date or call can change."""

    messages: int
    bytes: int
    tokens: int
    hash: str


@value(kw_only=True)
class Explanation:
    """A prompt, candidate by candidate, and its size in all."""

    agent: str
    mode: str
    user: int
    candidates: tuple[Candidate, ...]
    messages: int
    bytes: int
    words: int
    tokens: int
    tokenizer: str
    hash: str
    stable: Prefix
    comments: int = 0  # the bytes of comments that were left out, of all pages
    truncated: tuple[str, ...] = ()  # pages that are given in part
    omitted: tuple[str, ...] = ()  # pages that should be given and are not
    tools: tuple[ToolCandidate, ...] = ()  # of a conversation in this mode


@value
class CandidateDifference:
    """One candidate on both sides; `rule` and `bytes` are (before, after)."""

    name: str
    layer: str
    directive: str
    kind: Literal["same", "changed", "added", "removed"]
    rule: tuple[str, str]
    bytes: tuple[int, int]


@value(kw_only=True)
class PromptComparison:
    """Two prompts: their common beginning, and where they differ.

    `first` is the offset of the first byte that differs, None if none does; `message` and `name`
    say where that is, `line` and `column` count from 1 within that message, and `before` and
    `after` show the text there.
    """

    same: bool
    first: int | None
    message: int
    name: str
    line: int
    column: int
    before: str
    after: str
    common: Prefix
    bytes: tuple[int, int]
    tokens: tuple[int, int]
    hash: tuple[str, str]
    differences: tuple[CandidateDifference, ...]
    tokenizer: str


@value
class Overrun:
    """Something that takes more than it may; `name` is "" for the whole prompt."""

    name: str
    layer: str
    size: int
    limit: int
    unit: str


@value
class PageProblem:
    """A page that is not as it should be, and what to do about it."""

    file: str
    layer: str
    kind: Literal["unreadable", "not_text", "merge_conflict", "conflicting_copy"]
    detail: str
    advice: str
