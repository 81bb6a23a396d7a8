"""A part of a page: pinned sections stay, then the newest lines; each cut is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, target
from hypothesis import strategies as st

from looseleaf import Workspace
from looseleaf.catalog.json_values import to_json_value
from looseleaf.errors import InvalidSetting
from looseleaf.memory.registry import FileRegistry
from looseleaf.operations.memory import update_memory
from looseleaf.operations.prompt import compose_prompt, explain_prompt
from looseleaf.prompt.assembly import Piece
from looseleaf.prompt.directive import Directive
from looseleaf.prompt.excerpts import cut_page
from looseleaf.prompt.formats import HostLimit
from looseleaf.prompt.outputs import Source, Text, estimate_tokens, format_block

SAYS = Directive(name="says", priority=1, make=lambda _desk: ())
NAMES = (
    "",
    "Rules",
    "State",
    "Lessons",
    "People",
    "A section with a name of forty characters or so",
)
NOTE = re.compile(r"^\[older lines left out: ([\d,]+)(?: in (.*))?\]$", re.MULTILINE)


def build_piece(text: str, pinned: tuple[str, ...] = ()) -> Piece:
    """Build the piece of a page."""
    source = Source(file="MEMORY.md", layer="agent", bytes=len(text), rank=1, pinned=pinned)
    block = format_block(source, text)
    return Piece(SAYS, Text(block, source), block)


def inside(piece: Piece) -> str:
    """Return the lines of a page between its label and its end."""
    return piece.text.partition("\n")[2].rpartition("\n")[0]


@st.composite
def pages(draw: st.DrawFn) -> list[tuple[str, list[str]]]:
    """Make sections of blocks, each with a mark of its own in each of its lines."""
    names = draw(st.lists(st.sampled_from(NAMES[1:]), unique=True, max_size=5))
    sections: list[tuple[str, list[str]]] = [(name, []) for name in ("", *names)]
    number = 0
    for _name, blocks in sections:
        for kind in draw(st.lists(st.sampled_from("itcpn"), max_size=12)):
            number += 1
            words = "word " * draw(st.integers(0, 30))
            line = f"«{number}» {words.strip()}".strip()
            blocks.append(
                {
                    "i": f"- {line}.\n",
                    "t": f"\n| {line} |\n|---«{number}»|\n| «{number}» |\n\n",
                    "c": f"\n```\n«{number}»\n\n## «{number}» é🙂\n- {line}\n```\n\n",
                    "p": f"\n{line}.\n\n",
                    "n": f"- {line}\n  - «{number}» below\n\n    «{number}» too\n",
                }[kind]
            )
    return sections


def render(sections: list[tuple[str, list[str]]]) -> str:
    """Join sections into a page."""
    return "".join(
        (f"## {name}\n\n" if name else "# Memory\n\n") + "".join(blocks) + "\n"
        for name, blocks in sections
    )


def count_marks(text: str) -> dict[int, int]:
    """Count the lines with each mark."""
    counts: dict[int, int] = {}
    for mark in re.findall("«([0-9]+)»", text):
        counts[int(mark)] = counts.get(int(mark), 0) + 1
    return counts


@given(
    sections=pages(),
    percent=st.integers(20, 99),
    pins=st.sets(st.sampled_from(NAMES[1:]), max_size=3),
    unit=st.sampled_from(["bytes", "tokens", "claude-code", "codex"]),
)
def test_no_pinned_line_and_no_newer_line_goes_first(
    sections: list[tuple[str, list[str]]], percent: int, pins: set[str], unit: str
) -> None:
    """For any page, room and pins: it fits, the rule holds, and the bytes are the same again."""
    count = {"bytes": lambda text: len(text.encode()), "tokens": estimate_tokens}.get(unit)
    count = count or HostLimit(unit).count
    text = render(sections)
    piece = build_piece(text, tuple(name.upper() + " " for name in pins))
    room = count(piece.text) * percent // 100
    cut = cut_page(piece, room, count)
    again = cut_page(build_piece(text, piece.item.source.pinned), room, count)  # type: ignore[union-attr]
    assert cut == again
    if cut is None:
        return
    assert count(cut.text) <= room
    shown = inside(cut)
    target(float(len(shown)))
    kept, whole = count_marks(shown), count_marks(text)
    was_pinned_left_out, is_unpinned_kept, broken = False, False, []
    for name, blocks in sections:
        marks = [next(iter(count_marks(block))) for block in blocks]
        given_marks = [mark for mark in marks if mark in kept]
        # The words above a list introduce it, and stay with the header.
        without = marks[1:] if blocks[:1] and blocks[0].startswith("\n«") else marks
        facts = [mark for mark in given_marks if mark in without]
        assert facts == without[len(without) - len(facts) :]
        broken += [mark for mark in given_marks if kept[mark] != whole[mark]]
        is_missing = len(facts) < len(without)
        if name in pins:
            was_pinned_left_out |= is_missing
        else:
            is_unpinned_kept |= bool(facts)
        if given_marks and name:
            assert f"## {name}\n" in shown
    assert not (was_pinned_left_out and is_unpinned_kept)
    assert not broken  # a list item keeps what is below it, a table and code all of their lines
    dropped = sum(int(number.replace(",", "")) for number, _name in NOTE.findall(shown))
    lines = [line for line in text.split("\n") if line.strip()]
    shown_lines = [line for line in NOTE.sub("", shown).split("\n") if line.strip()]
    assert dropped == len(lines) - len(shown_lines)
    if " […]" not in shown:
        position = 0
        for line in shown_lines:  # nothing is invented, and the order stays
            position = lines.index(line, position) + 1


def test_what_is_cut_is_named_at_its_place() -> None:
    """Below the header and the introduction of its section, above the lines that stay."""
    facts = "".join(f"- Fact {number} of the harbour.\n" for number in range(60))
    text = f"# Memory\n\n## State\n\nAll that is so now:\n\n{facts}\n## Rules\n\n- Be kind.\n"
    cut = cut_page(build_piece(text, ("rules",)), 1_000, len)
    assert cut is not None
    assert cut.cut is not None
    kept = cut.text.count("of the harbour")
    note = (
        f"All that is so now:\n\n[older lines left out: {60 - kept} in State]\n- Fact {60 - kept} "
    )
    assert note in cut.text
    assert inside(cut).endswith("- Fact 59 of the harbour.\n\n## Rules\n\n- Be kind.\n")
    assert f"{60 - kept} in State (lines 7 to {66 - kept})" in cut.cut.detail
    smaller = cut_page(cut, 800, len)
    assert smaller is not None
    assert smaller == cut_page(build_piece(text, ("rules",)), 800, len)


def test_a_lower_heading_stays_with_its_lines() -> None:
    """And goes with the last of them."""
    text = "## State\n\n" + "".join(
        f"### Part {part}\n\n" + "".join(f"- Fact {part} {n} of it.\n" for n in range(10)) + "\n"
        for part in range(6)
    )
    cut = cut_page(build_piece(text), 700, len)
    assert cut is not None
    for part in range(6):
        assert (f"### Part {part}\n" in cut.text) == (f"- Fact {part} 9 " in cut.text)
    assert "- Fact 5 0 " in cut.text
    assert "### Part 0" not in cut.text


def test_of_many_sections_the_last_ones_are_given() -> None:
    """One note says how many lines of the others are left out."""
    text = "".join(f"## Day {day}\n\n- It rained.\n\n" for day in range(300))
    cut = cut_page(build_piece(text), 1_500, len)
    assert cut is not None
    days = [int(day) for day in re.findall("## Day ([0-9]+)", cut.text)]
    assert days == list(range(300))[-len(days) :]
    assert 20 < len(days) < 60
    note = NOTE.search(cut.text)
    assert note is not None
    assert note[1] == str(2 * (300 - len(days)))
    assert note[2].startswith("Day 0, Day 1, Day 2, Day 3 and ")


def test_a_fact_told_in_one_session_is_in_the_next_request(workspace: Workspace) -> None:
    """Day after day, however long MEMORY.md has become; explain says which lines went."""
    context = workspace.context
    for day in range(12):
        facts = "".join(
            f"- Day {day}: the ferry {n} leaves at {n}:05 from pier {n}.\n" for n in range(20)
        )
        update_memory(context, "State", facts, mode="append")
        update_memory(context, "Lessons", f"- Lesson {day}: ask first.", mode="append")
        document = to_json_value(compose_prompt(context, "chat", format="hook", host="codex"))
        text = document["hookSpecificOutput"]["additionalContext"]
        assert f"- Day {day}: the ferry 19 leaves" in text
        assert f"- Lesson {day}: ask first." in text
    assert "- Day 0: the ferry 0 " not in text
    explained = explain_prompt(context, "chat", host="codex")
    detail = next(item.detail for item in explained.candidates if item.name == "MEMORY.md")
    assert re.search(r"Older lines left out: \d+ in State \(lines \d+ to \d+\)", detail)


@pytest.mark.parametrize("place", ["default", "settings", "agent", "registry"])
def test_who_pins_a_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Rules, Preferences and Identity by default; a person's settings, an agent's, a plugin's."""
    root = tmp_path / "memory"
    Workspace.create(root, agent="ada")
    lines = {
        "settings": 'pinned_sections = ["Standing"]\n',
        "registry": 'plugins = ["pins_of_a_plugin"]\n',
    }
    with (root / "looseleaf.toml").open("a") as file:
        file.write(lines.get(place, ""))
    (tmp_path / "pins_of_a_plugin.py").write_text(
        "from looseleaf import hookimpl\n\n\n@hookimpl\ndef register_files(files):\n"
        "    files.register('MEMORY.md', 30, protected=True, pinned=['Standing'])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    name = "Rules" if place == "default" else "Standing"
    facts = "".join(f"- Fact {number} of the harbour is long.\n" for number in range(400))
    rules = "- Never deploy on a Friday.\n" + "- Be kind to all.\n" * 60
    (root / "agents/ada/MEMORY.md").write_text(f"## {name}\n\n{rules}\n## State\n\n{facts}")
    with Workspace.open(root) as workspace:
        if place == "agent":
            workspace.agents.configure("ada", {"pinned_sections": [name]})
        document = to_json_value(
            compose_prompt(workspace.context, "chat", format="hook", max_characters=5_000)
        )
        assert "- Never deploy on a Friday." in document["hookSpecificOutput"]["additionalContext"]
        explained = explain_prompt(workspace.context, "chat", host="any", max_characters=5_000)
        detail = next(item.detail for item in explained.candidates if item.name == "MEMORY.md")
        assert f"Pinned sections ({name}) stay" in detail


@pytest.mark.parametrize("pinned", ["Rules", [""], [1]])
def test_a_pin_that_names_no_section_is_refused(pinned: object) -> None:
    """When a plugin registers the page."""
    with pytest.raises(InvalidSetting, match=r"pinned of MEMORY\.md"):
        FileRegistry().register("MEMORY.md", pinned=pinned)  # type: ignore[arg-type]
