"""A prompt as others take it: plain text, OpenAI and Anthropic messages, coding agents' hooks."""

from __future__ import annotations

import json

from looseleaf.errors import Invalid
from looseleaf.prompt.assembly import (
    BETWEEN,
    AnthropicBlock,
    AnthropicPrompt,
    Assembly,
    HookDocument,
    HookOutput,
    OpenAIMessage,
    OpenAIPrompt,
    Piece,
    PromptDocument,
    PromptFile,
    PromptMessage,
    PromptText,
)
from looseleaf.prompt.chain import rank_of, rank_places, share_room
from looseleaf.prompt.directive import Directive
from looseleaf.prompt.outputs import GENERATED_PAGE, OWN_PAGE, File, LeftOut, Text
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypeAlias

    Unit = Literal["utf-16", "utf-8"]

    Prompt: TypeAlias = (
        "PromptDocument | OpenAIPrompt | AnthropicPrompt | PromptText | HookDocument"
    )


# A coding agent's limit for the output of a hook: important pages are kept, others are named.
# A host that is given more than its limit shows its model a short preview instead, so a hook
# that prints a little too much gives nearly nothing.


LIMIT = 10_000
LEAST = 1_000
# Claude Code counts as JavaScript does. Codex counts tokens, four bytes each. Bytes are never
# fewer than characters, so they are safe for a host that nobody named.
UNITS: dict[str, Unit] = {
    "any": "utf-8",
    "claude-code": "utf-16",
    "codex": "utf-8",
    "gemini": "utf-16",
    "opencode": "utf-16",
}
HOSTS = tuple(UNITS)
# Hosts that take the whole output of a hook; ours still ends somewhere.
LIMITS = {"gemini": 100_000, "opencode": 100_000}

# The characters of JSON for one that a terminal would not show: \uXXXX, or a pair of them.
_ESCAPE, _LONG_ESCAPE = 6, 12
_SMALL = 10  # words of a directive below a tenth of the room come before a cut page
_MOST_NAMES = 8
_LONGEST_EXTENT = "000,000 of 000,000 lines"


INCOMPLETE = "looseleaf: a part of the memory is missing here. See: looseleaf prompt check --hook"


def build_hook_document(text: str, *, incomplete: bool) -> HookDocument:
    """Return the document that Claude Code and Codex read from the hook that starts a session."""
    output = HookOutput(hookEventName="SessionStart", additionalContext=text)
    document = HookDocument(hookSpecificOutput=output)
    if incomplete:
        document["systemMessage"] = INCOMPLETE
    return document


# The characters around the text in the hook's JSON: a message to the person and a line's end.
_ENVELOPE = len(json.dumps(build_hook_document("", incomplete=True))) + 1


@value
class HostLimit:
    """How many characters a host takes, and how a page that did not fit can be read."""

    host: str = "any"
    characters: int = LIMIT
    command: str = "looseleaf memory read"  # a file's name is added
    agent: str = ""

    @staticmethod
    def normal(host: str, characters: int, command: str, agent: str) -> tuple[str, int, str, str]:
        """Refuse an unknown host, and a limit under which nothing would fit."""
        if host not in UNITS:
            raise Invalid(f"Invalid host {host!r}. Available hosts: {', '.join(HOSTS)}.")
        if type(characters) is not int or characters < LEAST:
            raise Invalid(f"A hook's output needs room for at least {LEAST:,} characters.")
        return host, characters, command, agent

    def count(self, text: str) -> int:
        """Count a text as this host does, in the longest JSON that it can become."""
        json_text = json.dumps(text, ensure_ascii=False)[1:-1]
        extra_characters = sum(
            json_text.count(sign) * (_ESCAPE if sign <= "\uffff" else _LONG_ESCAPE)
            for sign in set(json_text)
            if not sign.isprintable()
        )
        if UNITS[self.host] == "utf-8":
            return len(json_text.encode()) + extra_characters
        return len(json_text.encode("utf-16-le")) // 2 + extra_characters

    def output_size(self, assembly: Assembly) -> int:
        """Count the characters that a hook prints for a prompt, at most."""
        return self.count(assembly.text) + _ENVELOPE


# A program with a memory of its own gives the rules of that memory in the same request.
_OTHER_MEMORIES = {
    "claude-code": (
        "Claude Code may give another memory in this request: its auto memory, a folder with a "
        "MEMORY.md of its own, and rules of its own. The pages below are this memory: what is to "
        "be remembered goes here, by the tools of Looseleaf (append_agent_memory)."
    )
}


def _say_nothing(_view: object) -> tuple[Text, ...]:
    return ()


HOST_LIMIT = Directive(
    name="host-limit", priority=90, make=_say_nothing, description="Name what did not fit."
)


HOST_MEMORY = Directive(
    name="host-memory",
    priority=11,
    make=_say_nothing,
    varies="content",
    description="Tell this memory from the program's own.",
)


def _tell_apart(assembly: Assembly, host: str) -> Assembly:
    """Return a prompt that says which memory it is, for a host with a memory of its own."""
    text = _OTHER_MEMORIES.get(host, "")
    if not (text and assembly.text):
        return assembly
    at = sum(1 for piece in assembly.pieces if piece.directive.priority < HOST_MEMORY.priority)
    note = Piece(HOST_MEMORY, Text(text), text)
    pieces = (*assembly.pieces[:at], note, *assembly.pieces[at:])
    return Assembly(assembly.request, pieces, assembly.moment)


def fit_to_host(assembly: Assembly, limit: HostLimit) -> Assembly:
    """Return a prompt that the host takes whole; pages stay in their order."""
    assembly = _tell_apart(assembly, limit.host)
    if limit.output_size(assembly) <= limit.characters:
        return assembly
    careful = _Fitting(assembly, limit).fit()
    # The notice of what is missing took less room than the longest one could have.
    closer = _Fitting(assembly, limit, limit.count(careful.pieces[-1].text)).fit()
    return closer if limit.output_size(closer) <= limit.characters else careful


class _Fitting:
    """The fitting of a prompt into a host's limit, with room for a notice of what is missing."""

    def __init__(self, assembly: Assembly, limit: HostLimit, notice_size: int = 0) -> None:
        self.assembly, self.limit = assembly, limit
        self.pieces = list(assembly.pieces)
        self.between = limit.count(BETWEEN)
        self.room = limit.characters - _ENVELOPE
        self.pages = [piece.name for piece in self.pieces if piece.layer and piece.text]
        self.own_places = [place for place in rank_places(self.pieces) if self._is_own(place)]
        longest = self._format_notice(
            {self.pieces[place].name: _LONGEST_EXTENT for place in self.own_places}, self.pages
        )
        self.names_fit = self._count_size(longest) < self.room // 2
        shortest = self._format_notice({}, [])
        size = notice_size or limit.count(longest if self.names_fit else shortest)
        self.room -= size + self.between

    def fit(self) -> Assembly:
        """Decide piece by piece, the most important first, and name what is missing at the end."""
        words = [place for place in range(len(self.pieces)) if self._is_words(place)]
        small = [place for place in words if self._size_of(place) <= self.room // _SMALL]
        large = [place for place in words if place not in small]
        first, later = small[:1], small[1:]
        self._keep_whole(first)  # how to read pages
        if sum(map(self._size_of, self.own_places)) > self.room:
            # A page must be cut anyway, and loses little more to a few words.
            self._keep_whole(later)
            later = []
        self._share_room()
        other_places = [
            place for place in rank_places(self.pieces) if rank_of(self.pieces[place]) > OWN_PAGE
        ]
        self._keep_whole([*later, *large, *other_places])
        notice = self._build_closing_notice()
        return Assembly(
            self.assembly.request,
            (*self.pieces, Piece(HOST_LIMIT, Text(notice), notice)),
            self.assembly.moment,
        )

    def _build_closing_notice(self) -> str:
        names = {piece.name for piece in self.pieces if piece.text}
        omitted_names = [name for name in self.pages if name not in names]
        extents = {piece.name: piece.cut.extent for piece in self.pieces if piece.cut}
        return (
            self._format_notice(extents, omitted_names)
            if self.names_fit
            else self._format_notice({}, [])
        )

    def _is_words(self, place: int) -> bool:
        """Return whether a piece is a directive's own words, or a notice that a page is missing."""
        piece = self.pieces[place]
        return bool(piece.text) and (not piece.injected or rank_of(piece) == 0)

    def _is_own(self, place: int) -> bool:
        return rank_of(self.pieces[place]) == OWN_PAGE

    def _count_size(self, text: str) -> int:
        return self.limit.count(text) + self.between

    def _size_of(self, place: int) -> int:
        return self._count_size(self.pieces[place].text)

    def _keep_whole(self, places: list[int]) -> None:
        for place in places:
            size = self._size_of(place)
            if size <= self.room:
                self.room -= size
            else:
                self._leave_out(place, size)

    def _share_room(self) -> None:
        """Fit the pages that matter most: short ones whole, of long ones a part."""
        for place, part in share_room(
            self.pieces, self.own_places, self.room, self.limit.count, between=self.between
        ):
            if part is None:
                self._leave_out(place, self._size_of(place))
            else:
                self.pieces[place] = part
                self.room -= self._size_of(place)

    def _leave_out(self, place: int, size: int) -> None:
        piece = self.pieces[place]
        if not piece.injected:
            self.pieces[place] = replace(piece, text="")
            return
        source = piece.item.source if isinstance(piece.item, Text) else None
        reason = (
            f"it takes {size:,} characters of the {self.limit.characters:,} that the host takes"
        )
        left_out = LeftOut(
            piece.name, "over_budget", piece.layer, len(piece.text.encode()), reason, source
        )
        self.pieces[place] = Piece(piece.directive, left_out)

    def _format_notice(self, truncated: dict[str, str], omitted_names: list[str]) -> str:
        parts = ["Not all of your memory fits here."]
        if truncated:
            names = join_names([f"{name} ({extent})" for name, extent in truncated.items()])
            parts.append(f"In part: {names}.")
        if omitted_names:
            parts.append(f"Left out: {join_names(omitted_names)}.")
        agent = f" --agent {self.limit.agent}" if self.limit.agent else ""
        parts.append(
            "Read the rest before you rely on it: with the tool get_agent_memory (file), or by "
            f"`{self.limit.command} FILE{agent}`."
        )
        return f"[{' '.join(parts)}]"


def join_names(names: Sequence[str]) -> str:
    """Name the first pages of a list, and return how many more there are."""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"


def concerns_person(assembly: Assembly) -> bool:
    """Return whether a person should know: a page that someone wrote is missing or cut."""
    if assembly.truncated:
        return True
    missing = [piece.item for piece in assembly.pieces if piece.name in assembly.omitted]
    return any(
        isinstance(item, LeftOut) and (item.source is None or item.source.rank < GENERATED_PAGE)
        for item in missing
    )


HOOKS = ("session-start",)
FORMATS = ("text", "json", "openai", "anthropic", "hook")


def build_document(assembly: Assembly, format: str) -> Prompt:  # noqa: A002
    """Return a prompt in one of the formats, as JSON."""
    if format == "openai":
        return build_openai(assembly)
    if format == "anthropic":
        return build_anthropic(assembly)
    if format == "text":
        return PromptText(text=assembly.text)
    if format == "hook":
        return build_hook(assembly)
    if format != "json":
        raise Invalid(f"There is no format {format!r}. Available formats: {', '.join(FORMATS)}.")
    return PromptDocument(
        agent=assembly.request.agent.slug,
        mode=assembly.request.mode,
        user=assembly.request.user,
        hash=assembly.hash,
        messages=[_build_message(piece) for piece in assembly.pieces if piece.text],
    )


def _build_message(piece: Piece) -> PromptMessage:
    message = PromptMessage(
        role="system", directive=piece.directive.name, name=piece.name, content=piece.text
    )
    if isinstance(piece.item, File):
        file = piece.item
        message["file"] = PromptFile(path=file.path, media_type=file.media_type, bytes=file.bytes)
    return message


def build_openai(assembly: Assembly) -> OpenAIPrompt:
    """Return the messages that an OpenAI-compatible endpoint takes."""
    return {"messages": [OpenAIMessage(role="system", content=text) for text in assembly.messages]}


def build_anthropic(assembly: Assembly) -> AnthropicPrompt:
    """Return the system blocks for Anthropic; the stable beginning is marked for its cache."""
    blocks = [AnthropicBlock(type="text", text=text) for text in assembly.messages]
    stable = sum(1 for piece in assembly.stable if piece.text)
    if stable:
        blocks[stable - 1]["cache_control"] = {"type": "ephemeral"}
    return {"system": blocks}


def build_hook(assembly: Assembly) -> HookDocument:
    """Return the document that Claude Code and Codex read from the hook that starts a session."""
    return build_hook_document(assembly.text, incomplete=concerns_person(assembly))
