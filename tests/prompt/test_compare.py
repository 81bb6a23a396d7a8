"""Comparing prompts: the first byte that differs, and whose it is."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Where, Workspace
from looseleaf.operations.prompt import Side, diff_prompts, explain_prompt
from looseleaf.prompt.assembly import Assembly, Piece
from looseleaf.prompt.directive import Directive
from looseleaf.prompt.outputs import Text, resolve_tokenizer
from looseleaf.prompt.reports import PromptComparison, compare_prompts
from looseleaf.prompt.request import Request
from tests.conftest import Clock

SAYS = Directive(name="says", priority=1, make=lambda _desk: ())
WORDS = st.lists(st.text(alphabet="aé\n🙂", min_size=1).filter(str.strip), min_size=1, max_size=4)


def assembly(texts: list[str]) -> Assembly:
    """Make a prompt of these messages."""
    request = Request(agent=None, mode="chat", user=1)  # type: ignore[arg-type]
    return Assembly(request, tuple(Piece(SAYS, Text(text), text) for text in texts), 0.0)


def of(before: list[str], after: list[str]) -> PromptComparison:
    """Compare two prompts."""
    return compare_prompts(assembly(before), assembly(after), resolve_tokenizer())


@given(WORDS, WORDS)
def test_the_first_byte_that_differs_is_the_first(before: list[str], after: list[str]) -> None:
    """As a comparison byte by byte finds it."""
    found = of(before, after)
    old, new = "\n\n".join(before).encode(), "\n\n".join(after).encode()
    differing = (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    common = old[: next(differing, min(len(old), len(new)))]
    assert found.same == (old == new)
    assert found.first == (None if old == new else len(common))
    assert old.startswith(common[: found.common.bytes])
    assert len(common) - found.common.bytes < 4  # part of one character is no text
    assert found.common.hash == sha256(common[: found.common.bytes]).hexdigest()


def test_the_place_is_named_by_message_line_and_column() -> None:
    """As one would point at it."""
    found = of(["one", "two\nthree"], ["one", "two\nthrow"])
    assert (found.first, found.message, found.line, found.column) == (12, 2, 2, 4)
    assert (found.before, found.after) == ("ee", "ow")
    assert found.common.messages == 1


def test_a_prompt_that_only_grew_differs_at_its_old_end() -> None:
    """In the message that was added."""
    found = of(["one"], ["one", "two"])
    assert (found.first, found.before) == (3, "")
    assert found.after == "\n\ntwo"


def test_an_edit_is_found_by_time(workspace: Workspace, clock: Clock) -> None:
    """The page that broke the cache, by name."""
    clock.advance(seconds=60)
    scope = workspace.agents.resolve("ada").shelf.page("SOUL.md")
    workspace.pages.append(scope, "I am patient.", change=workspace.context.change("append"))
    found = diff_prompts(workspace.context, "chat", as_of="2096-10-02T07:06:41Z")
    assert found.name == "SOUL.md"
    assert [difference.name for difference in found.differences if difference.kind != "same"] == [
        "SOUL.md"
    ]
    assert diff_prompts(workspace.context, "chat").same


def test_two_agents_and_two_modes_can_be_compared(workspace: Workspace) -> None:
    """With the rule on each side."""
    Path(workspace.root, "users/1/USER.md").write_text("Eve.\n")
    workspace.agents.create("bob", config={"memory_policy": {"mode": "deny", "deny": ["USER.md"]}})
    other = Side(agent="bob", mode="pipeline")
    found = diff_prompts(workspace.context, "chat", where=Where("ada"), other=other)
    rules = {
        difference.name: (difference.kind, difference.rule) for difference in found.differences
    }
    assert rules["USER.md"] == ("removed", ("injected", "policy_deny"))
    assert rules["SOUL.md"] == ("removed", ("injected", "missing"))
    assert rules["SITE.md"][0] == "same"
    assert found.common.messages == 2  # the text and SITE.md serve both


def test_sizes_add_up_to_the_whole(workspace: Workspace) -> None:
    """To the byte."""
    found = explain_prompt(workspace.context, "chat")
    gaps = 2 * (found.messages - 1)
    assert sum(candidate.bytes for candidate in found.candidates) + gaps == found.bytes
    assert sum(candidate.words for candidate in found.candidates) == found.words
    assert found.tokenizer == "estimate"
    assert found.stable.bytes < found.bytes
    text = workspace.compose("chat").text.encode()
    assert found.stable.hash == sha256(text[: found.stable.bytes]).hexdigest()


def test_the_past_is_composed_of_past_pages(workspace: Workspace, clock: Clock) -> None:
    """Byte for byte what was given then."""
    then = workspace.compose("chat", "ada").text
    clock.advance(days=2)
    scope = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    workspace.pages.write(scope, "changed\n", change=workspace.context.change("write"))
    assert workspace.compose("chat", "ada", as_of="2096-10-02").text == then
