"""The chain: order, contracts, failures, and what is remembered between two prompts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors import Invalid, Refused
from looseleaf.errors.operations import BrokenDirective, DirectiveFailed
from looseleaf.errors.pages import InvalidPolicy
from looseleaf.prompt.directive import Directives, DirectiveView
from looseleaf.prompt.outputs import Data, File, LeftOut, Text
from tests.conftest import Clock
from tests.prompt.conftest import ChainOf, RequestOf, list_pages


def saying(*outputs: object) -> object:
    """Make a directive that says this."""
    return lambda _desk: outputs


def test_outputs_come_by_priority_then_by_name(chain_of: ChainOf, request_of: RequestOf) -> None:
    """Whoever registered first."""
    chain = chain_of(
        ("late", 90, saying(Text("four"))),
        ("b", 20, saying(Text("three"))),
        ("a", 20, saying(Text("one"), Text("two"))),
    )
    assert chain.compose(request_of()).messages == ("one", "two", "three", "four")


def test_the_three_kinds_become_system_messages(chain_of: ChainOf, request_of: RequestOf) -> None:
    """Text as it is, data under its label, a file as a reference."""
    chain = chain_of(
        ("text", 1, saying(Text("  kept as it is \n"))),
        ("data", 2, saying(Data("INVENTORY", {"größe": [1, 2]}))),
        ("file", 3, saying(File("/uploads/plan.pdf", "application/pdf", bytes=7))),
    )
    text, data, file = chain.compose(request_of()).messages
    assert text == "  kept as it is \n"
    assert data.startswith("INVENTORY:\n\n")
    assert json.loads(data.partition(":\n\n")[2]) == {"größe": [1, 2]}
    assert file == "File plan.pdf (application/pdf, 7 bytes): /uploads/plan.pdf"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Text(""),
        lambda: Text(" \n"),
        lambda: Text("lone \ud800 surrogate"),
        lambda: Text(None),  # type: ignore[arg-type]
        lambda: Data("", {}),
        lambda: Data("two\nlines", {}),
        lambda: Data("X", "no table"),
        lambda: Data("X", {"a": object()}),
        lambda: Data("X", {"a": float("nan")}),
        lambda: File("", "text/plain"),
        lambda: File("/a", ""),
    ],
)
def test_an_output_that_says_nothing_is_refused(make: object) -> None:
    """When it is made, not when it is sent."""
    with pytest.raises(Invalid):
        make()  # type: ignore[operator]


def test_data_is_a_copy(chain_of: ChainOf, request_of: RequestOf) -> None:
    """What a directive does with its table later changes no prompt."""
    table = {"a": 1}
    chain = chain_of(("data", 1, saying(Data("X", table))))
    table["a"] = 2
    assert '"a": 1' in chain.compose(request_of()).text


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("Bad Name", 1, lambda _desk: ()), {}),
        (("x", "1", lambda _desk: ()), {}),
        (("x", True, lambda _desk: ()), {}),
        (("x", 1, "no function"), {}),
        (("x", 1, lambda: ()), {}),
        (("x", 1, lambda _a, _b: ()), {}),
        (("x", 1, lambda _desk: ()), {"modes": "chat"}),
        (("x", 1, lambda _desk: ()), {"modes": []}),
        (("x", 1, lambda _desk: ()), {"varies": "sometimes"}),
        (("x", 1, lambda _desk: ()), {"on_error": "ignore"}),
    ],
)
def test_a_directive_that_breaks_its_contract_is_refused_at_registration(
    arguments: tuple[object, ...], options: dict[str, object]
) -> None:
    """Loudly, before any prompt needs it."""
    with pytest.raises(Invalid):
        Directives().register(*arguments, **options)  # type: ignore[arg-type]


def test_two_directives_cannot_have_one_name() -> None:
    """Take the other one out first, in so many words."""
    known = Directives()
    known.register("x", 1, lambda _desk: (), owner="first")
    with pytest.raises(BrokenDirective, match="first has one of that name"):
        known.register("x", 2, lambda _desk: ())
    assert known.deregister("x")
    known.register("x", 2, lambda _desk: ())


def test_nothing_can_be_added_once_there_is_a_chain() -> None:
    """So the same request meets the same directives."""
    directives = Directives()
    directives.freeze()
    with pytest.raises(Refused):
        directives.register("x", 1, lambda _desk: ())


def failing(_desk: DirectiveView) -> Iterator[Text]:
    """Say something, then fail."""
    yield Text("half a sentence")
    raise RuntimeError("the backend is down")


def test_a_failure_is_fatal_unless_the_directive_says_otherwise(
    chain_of: ChainOf, request_of: RequestOf
) -> None:
    """No prompt without what must be in it."""
    with pytest.raises(DirectiveFailed, match="broken failed: RuntimeError: the backend is down"):
        chain_of(("broken", 1, failing)).compose(request_of())


def test_a_failure_that_may_be_skipped_is_in_the_trace(
    chain_of: ChainOf, request_of: RequestOf
) -> None:
    """And nothing of it in the prompt, not even the half that was said."""
    chain = chain_of(
        ("broken", 1, failing), ("fine", 2, saying(Text("still here"))), on_error="skip"
    )
    assembly = chain.compose(request_of())
    assert assembly.messages == ("still here",)
    item = assembly.pieces[0].item
    assert isinstance(item, LeftOut)
    assert (item.rule, item.detail) == ("failed", "RuntimeError: the backend is down")


@pytest.mark.parametrize("gives", ["text", None, 3])
def test_what_is_no_output_is_a_failure(
    chain_of: ChainOf, request_of: RequestOf, gives: object
) -> None:
    """A directive cannot smuggle a plain string in."""
    with pytest.raises(Invalid):
        chain_of(("odd", 1, saying(gives))).compose(request_of())


def test_our_own_refusals_are_never_skipped(
    workspace: Workspace, chain_of: ChainOf, request_of: RequestOf
) -> None:
    """A policy that cannot be followed must not become a prompt without one."""
    record = Path(workspace.root, "agents/ada/agent.json")
    found = json.loads(record.read_text())
    found["config"] = {"memory_policy": {"mode": "denied"}}
    record.write_text(json.dumps(found))
    chain = chain_of(("core", 1, lambda view: view.registered_pages()), on_error="skip")
    with pytest.raises(InvalidPolicy):
        chain.compose(request_of())


def test_a_directive_speaks_in_its_modes_only(chain_of: ChainOf, request_of: RequestOf) -> None:
    """And the trace says why it is silent in others."""
    chain = chain_of(("x", 1, saying(Text("hello"))), modes=["pipeline"])
    assert chain.compose(request_of("pipeline")).messages == ("hello",)
    silent = chain.compose(request_of("chat")).pieces[0].item
    assert isinstance(silent, LeftOut)
    assert silent.rule == "mode"


def test_a_request_must_name_its_mode(request_of: RequestOf) -> None:
    """`all` is no mode one can be in."""
    for mode in ("", "all", "Chat!", None):
        with pytest.raises(Invalid):
            request_of(mode)


class Counting:
    """A directive that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, view: DirectiveView) -> Iterator[Text | LeftOut]:
        self.asked += 1
        yield from view.pages(["MEMORY.md"])


@pytest.mark.parametrize(("varies", "asked"), [("content", 2), ("day", 3), ("call", 5)])
def test_a_directive_is_asked_again_when_it_may_say_something_new(
    workspace: Workspace,
    clock: Clock,
    chain_of: ChainOf,
    request_of: RequestOf,
    varies: str,
    asked: int,
) -> None:
    """By content when a page changed, by day on a new day too, by call each time."""
    directive = Counting()
    settle(workspace)
    chain = chain_of(("x", 1, directive), varies=varies)
    first = chain.compose(request_of())
    chain.compose(request_of())
    clock.advance(days=1)
    assert chain.compose(request_of()).text == first.text
    chain.compose(request_of())
    Path(workspace.root, "agents/ada/MEMORY.md").write_text("new\n")
    settle(workspace)
    assert "new" in chain.compose(request_of()).text
    assert directive.asked == asked


def settle(workspace: Workspace) -> None:
    """Wait until files just written count as settled, so that what is read of them is kept."""
    time.sleep(0.06)
    workspace.agents.resolve("ada")


def test_requests_that_differ_do_not_share_a_prompt(
    workspace: Workspace, request_of: RequestOf
) -> None:
    """In the mode, the pages denied, the user or anything else."""
    chain = workspace.chain()
    plain = chain.compose(request_of())
    assert chain.compose(request_of()).text == plain.text
    assert "MEMORY.md" not in list_pages(chain.compose(request_of(deny=("MEMORY.md",))))
    assert list_pages(chain.compose(request_of(allow_only=()))) == []
    assert "MEMORY.md" in list_pages(chain.compose(request_of()))


def test_a_page_edited_on_disk_shows_in_the_next_prompt(workspace: Workspace) -> None:
    """In a process that has composed it before."""
    page = Path(workspace.root, "agents/ada/MEMORY.md")
    for word in ("first", "second", "third"):
        page.write_text(f"# Memory\n\n{word} edit\n")
        assert f"{word} edit" in workspace.compose("chat", "ada").text
    page.unlink()
    assert "MEMORY.md" not in list_pages(workspace.compose("chat", "ada"))


def test_a_changed_configuration_counts_at_once(workspace: Workspace) -> None:
    """Also when another process, or a person, changed it."""
    assert "SOUL.md" in list_pages(workspace.compose("chat", "ada"))
    other = Workspace.open(workspace.root)
    policy = {"memory_policy": {"mode": "deny", "deny": ["SOUL.md"]}}
    other.agents.configure("ada", policy)
    assert "SOUL.md" not in list_pages(workspace.compose("chat", "ada"))


COMPOSE = """
import sys
from looseleaf import Workspace
workspace = Workspace.open(sys.argv[1], clock=lambda: float(sys.argv[2]))
sys.stdout.buffer.write(workspace.compose("chat", "ada").stable_text.encode())
"""


def test_two_processes_on_two_days_give_the_same_bytes(workspace: Workspace) -> None:
    """While no page changes, up to what tells the date."""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", COMPOSE, workspace.root, str(moment)],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": str(moment % 1000)},
        ).stdout
        for moment in (4_000_000_000, 4_000_086_400, 4_100_000_123)
    }
    assert len(outputs) == 1
    assert b"SOUL.md" in outputs.pop()
