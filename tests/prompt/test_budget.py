"""Budgets: by priority, own pages in part, others whole or not at all, never without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Workspace
from looseleaf.agents.config import Budget, budget_of
from looseleaf.errors import Invalid
from looseleaf.operations.prompt import check_prompt
from looseleaf.prompt.assembly import BETWEEN, Piece
from looseleaf.prompt.chain import fit_pieces
from looseleaf.prompt.directive import Directive
from looseleaf.prompt.outputs import LeftOut, Source, Text, estimate_tokens, resolve_tokenizer
from looseleaf.prompt.reports import explain_prompt
from tests.prompt.conftest import list_left_out, list_pages

SAYS = Directive(name="says", priority=1, make=lambda _desk: ())


def piece(name: str, size: int) -> Piece:
    """Make a piece of a page whose block has this size."""
    text = "x" * size
    return Piece(SAYS, Text(text, Source(file=name, layer="agent", bytes=size)), text)


@given(
    sizes=st.lists(st.integers(1, 300), max_size=12),
    page=st.integers(0, 300),
    total=st.integers(0, 900),
)
def test_what_is_given_fits_and_what_is_left_out_did_not(
    sizes: list[int], page: int, total: int
) -> None:
    """In the order of priority, each whole; the notices come on top."""
    pieces = [piece(f"{place}.md", size) for place, size in enumerate(sizes)]
    kept = fit_pieces(pieces, Budget(page, total), estimate_tokens)
    assert len(kept) == len(pieces)
    used = 0
    for before, after, size in zip(pieces, kept, sizes, strict=True):
        fits = (not page or size <= page) and (not total or used + size <= total)
        if fits:
            assert after is before
            used += size + len(BETWEEN)
        else:
            assert isinstance(after.item, LeftOut)
            assert after.item.rule == "over_budget"
            assert after.item.bytes == size
            assert after.text == f"[{before.name} was left out: {after.item.detail}]"
    assert not total or used <= total + len(BETWEEN)


def test_of_an_own_page_the_newest_lines_that_fit_are_given(workspace: Workspace) -> None:
    """In bytes and in tokens, by the budget of a page and of all; explain names the others."""
    scope = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    facts = [f"- Fact {number} is about the harbour.\n" for number in range(300)]
    text = "## Rules\n\n- Be kind.\n\n## State\n\n" + "".join(facts)
    workspace.pages.write(scope, text, change=workspace.context.change("write"))
    for budget in (
        Budget(total=4_000),
        Budget(page=2_000),
        Budget(total=900, unit="tokens"),
        Budget(page=600, unit="tokens"),
    ):
        assembly = workspace.compose("chat", "ada", budget=budget)
        assert assembly.truncated == ("MEMORY.md",)
        assert "SOUL.md" in list_pages(assembly)
        given = next(piece for piece in assembly.pieces if piece.name == "MEMORY.md")
        size = estimate_tokens(given.text) if budget.unit == "tokens" else len(given.text.encode())
        assert size <= (budget.page or budget.total)
        assert "- Be kind.\n" in given.text
        kept = [fact for fact in facts if fact in given.text]
        assert 20 < len(kept) < 150
        assert kept == facts[-len(kept) :]
        note = f"[older lines left out: {300 - len(kept)} in State]\n"
        assert f"{note}{kept[0]}" in given.text
        candidates = explain_prompt(assembly, resolve_tokenizer()).candidates
        explained = next(item.detail for item in candidates if item.name == "MEMORY.md")
        assert f"{300 - len(kept)} in State (lines 7 to {306 - len(kept)})" in explained
        assert "Pinned sections (Rules) stay" in explained


def test_a_page_of_which_not_a_line_fits_is_left_out(workspace: Workspace) -> None:
    """And the prompt says which, with what it takes and what there is."""
    scope = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    code = "```\n" + "yyyyyy\n" * 700 + "```\n"
    workspace.pages.write(scope, code, change=workspace.context.change("write"))
    assembly = workspace.compose("chat", "ada", budget=Budget(total=4_000))
    assert "MEMORY.md" not in list_pages(assembly)
    assert list_left_out(assembly)["MEMORY.md"] == "over_budget"
    assert "[MEMORY.md was left out: it takes 5" in assembly.text
    assert "yyy" not in assembly.text
    assert "SITE CONTEXT" in assembly.text


def test_a_budget_keeps_what_matters_most(workspace: Workspace) -> None:
    """SOUL, USER and MEMORY before pages that can be generated again; the order stays."""
    Path(workspace.root, "shared/RULES.md").write_text("- Be kind.\n" * 40)
    Path(workspace.root, "users/1/USER.md").write_text("Eve.\n")
    scope = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    workspace.pages.write(scope, "- A fact.\n" * 200, change=workspace.context.change("write"))
    whole = workspace.compose("chat", "ada")
    sizes = {piece.name: len(piece.text) + len(BETWEEN) for piece in whole.pieces}
    total = sum(sizes.values()) - sizes["SITE.md"] - 1
    roomier = workspace.compose("chat", "ada", budget=Budget(total=total))
    assert list_pages(roomier) == ["RULES.md", "SOUL.md", "USER.md", "MEMORY.md"]
    total -= sizes["RULES.md"]
    assembly = workspace.compose("chat", "ada", budget=Budget(total=total))
    assert list_pages(assembly) == ["SOUL.md", "USER.md", "MEMORY.md"]
    assert (
        list_left_out(assembly)["SITE.md"] == list_left_out(assembly)["RULES.md"] == "over_budget"
    )


def test_tokens_are_a_unit_too(workspace: Workspace) -> None:
    """Counted by the tokenizer of the workspace."""
    few = workspace.compose("chat", "ada", budget=Budget(total=150, unit="tokens"))
    assert list_pages(few) != list_pages(workspace.compose("chat", "ada"))
    assert "tokens" in few.text


def test_a_budget_comes_from_the_call_the_agent_or_the_settings(workspace: Workspace) -> None:
    """The nearest one counts."""
    workspace.agents.configure("ada", {"prompt_budget": {"page": 10}})
    assert list_pages(workspace.compose("chat", "ada")) == []
    assert list_pages(workspace.compose("chat", "ada", budget=Budget())) != []


@pytest.mark.parametrize(
    "config", [{"page": -1}, {"total": "1"}, {"unit": "words"}, {"most": 1}, [], {"page": True}]
)
def test_a_budget_that_limits_nothing_is_refused(workspace: Workspace, config: object) -> None:
    """When it is configured, not when it is needed."""
    with pytest.raises(Invalid):
        budget_of(config)  # type: ignore[arg-type]
    with pytest.raises(Invalid):
        workspace.agents.configure("ada", {"prompt_budget": config})


def test_a_check_names_what_is_over(workspace: Workspace) -> None:
    """Pages by their own budgets, the whole by those given."""
    context = workspace.context
    assert check_prompt(context, "chat").fits
    scope = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    workspace.pages.write(scope, "word " * 2_500, change=context.change("write"))
    found = check_prompt(context, "chat", max_bytes=100, max_tokens=100)
    assert not found.fits
    over = {(overrun.name, overrun.limit, overrun.unit) for overrun in found.overruns}
    assert over == {
        ("MEMORY.md", 8_192, "bytes"),
        ("MEMORY.md", 2_000, "words"),
        ("", 100, "bytes"),
        ("", 100, "tokens"),
    }
    words = next(overrun.size for overrun in found.overruns if overrun.unit == "words")
    assert words == 2_500
