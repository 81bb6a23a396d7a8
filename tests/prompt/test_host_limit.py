"""A hook's output always arrives: within the host's limit, with what matters most."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from looseleaf import Workspace
from looseleaf.catalog.json_values import to_json_value
from looseleaf.cli.output import encode_document
from looseleaf.errors import Invalid
from looseleaf.operations.prompt import check_prompt, compose_prompt, explain_prompt
from looseleaf.prompt import formats
from looseleaf.prompt.assembly import Assembly, Piece
from looseleaf.prompt.directive import Directive
from looseleaf.prompt.formats import HOSTS, LIMITS, UNITS, HostLimit, fit_to_host
from looseleaf.prompt.outputs import LeftOut, Source, Text
from tests.prompt.conftest import list_pages

LINE = "- The harbour office opens at 08:{minute:02d}; ask for Eve in room {minute}.\n"
MEMORY = "# Memory\n\n## State\n\n" + "".join(LINE.format(minute=item) for item in range(60))
MEMORY += "\n## Lessons\n\n" + "".join(LINE.format(minute=item) for item in range(65))


def fill(workspace: Workspace, **texts: str) -> None:
    """Write core pages by hand."""
    places = {"RULES": "shared", "SITE": "shared", "USER": "users/1"}
    for name, text in texts.items():
        folder = places.get(name, "agents/ada")
        Path(workspace.root, folder, f"{name}.md").write_text(text)


def host_size(text: str, host: str) -> int:
    """Count as the host does: JavaScript's characters, or bytes."""
    return len(text.encode(UNITS[host])) // (2 if UNITS[host] == "utf-16" else 1)


def test_what_fits_is_not_touched(workspace: Workspace) -> None:
    """No notice, no message."""
    assembly = workspace.compose("chat", "ada")
    assert fit_to_host(assembly, HostLimit()) is assembly


def test_a_host_with_a_memory_of_its_own_is_told_which_is_which(workspace: Workspace) -> None:
    """Before the first page; no other host has a word about it."""
    texts = {}
    for host in HOSTS:
        document = to_json_value(
            compose_prompt(workspace.context, "chat", format="hook", host=host)
        )
        texts[host] = document["hookSpecificOutput"]["additionalContext"]
    told = {host: text.find("its auto memory") for host, text in texts.items()}
    assert 0 < told.pop("claude-code") < texts["claude-code"].index("<page file=")
    assert set(told.values()) == {-1}
    explained = explain_prompt(workspace.context, "chat", host="claude-code")
    assert "host-memory" in [item.directive for item in explained.candidates]


@pytest.mark.parametrize("host", LIMITS)
def test_a_host_that_takes_all_gets_all(workspace: Workspace, host: str) -> None:
    """What does not fit into the limit of the others."""
    fill(workspace, MEMORY=MEMORY * 2, USER="Eve.\n" * 20)
    document = to_json_value(compose_prompt(workspace.context, "chat", format="hook", host=host))
    assert MEMORY * 2 in document["hookSpecificOutput"]["additionalContext"]
    assert "systemMessage" not in document


@pytest.mark.parametrize("host", [host for host in HOSTS if host not in LIMITS])
def test_soul_user_and_memory_are_whole_before_others(workspace: Workspace, host: str) -> None:
    """A memory within its own budget arrives; what does not is named, with how to read it."""
    fill(workspace, MEMORY=MEMORY, RULES="- Be kind.\n" * 60, USER="Eve.\n" * 20)
    assert 7_000 < len(MEMORY) < 8_000
    document = to_json_value(compose_prompt(workspace.context, "chat", format="hook", host=host))
    text = document["hookSpecificOutput"]["additionalContext"]
    assert host_size(encode_document(document, indent=None), host) <= 10_000
    assert MEMORY in text
    assert "I am Ada" in text
    assert "Eve.\n" * 20 in text
    notice = text.rpartition("\n\n[")[2]
    assert "RULES.md. Read the rest" in notice
    assert "get_agent_memory" in notice
    assert "memory read FILE --agent ada`" in notice
    assert "looseleaf prompt check --hook" in document["systemMessage"]


def test_a_generated_page_goes_first_and_disturbs_nobody(workspace: Workspace) -> None:
    """The model reads that it is missing; the person is not told."""
    fill(workspace, MEMORY=MEMORY, SITE="# Site\n\n" + "- A page.\n" * 160)
    document = to_json_value(compose_prompt(workspace.context, "chat", format="hook"))
    assert "Left out: SITE.md." in document["hookSpecificOutput"]["additionalContext"]
    assert "systemMessage" not in document


def test_of_a_page_that_is_too_long_the_newest_lines_of_each_section_are_given(
    workspace: Workspace,
) -> None:
    """The label and notes say how much; short pages stay whole, however long the others are."""
    fill(workspace, MEMORY=MEMORY + "## Last\n\n- short\n", SOUL="I am Ada.\n" * 900)
    limit = HostLimit(agent="ada")
    given = fit_to_host(workspace.compose("chat", "ada"), limit)
    assert given.truncated == ("SOUL.md", "MEMORY.md")
    assert "SITE.md" in given.omitted
    memory = next(piece.text for piece in given.pieces if piece.name == "MEMORY.md")
    label, *lines, _end = memory.split("\n")
    assert 'part="' in label
    assert " of 135 lines" in label
    assert "## Last" in lines
    assert "- short" in lines
    state, lessons = (lines.index(f"## {name}") for name in ("State", "Lessons"))
    old_state, old_lessons = MEMORY.split("## Lessons")
    for old, new, name in (
        (old_state, lines[state:lessons], "State"),
        (old_lessons, lines[lessons:], "Lessons"),
    ):
        facts = [line for line in old.split("\n") if "harbour" in line]
        kept = [line for line in new if line.startswith("- The harbour")]
        assert kept == facts[-len(kept) :]
        assert 25 < len(kept) < 60
        assert f"[older lines left out: {len(facts) - len(kept)} in {name}]" in new
    assert "In part: " in given.text


@pytest.mark.parametrize(
    "sentence", ["Eve likes long walks. ", "長い文章は一行に書かれる。", "🙂\u200d"]
)
def test_a_paragraph_on_one_line_is_cut_between_words(workspace: Workspace, sentence: str) -> None:
    """Not left out: people who write without line ends have a memory, too."""
    fill(workspace, MEMORY="# Memory\n\n" + sentence * 9_000, SOUL="I am Ada. " * 900)
    document = to_json_value(compose_prompt(workspace.context, "chat", format="hook", host="codex"))
    text = document["hookSpecificOutput"]["additionalContext"]
    assert 8_500 < host_size(encode_document(document, indent=None), "codex") <= 10_000
    assert text.count(sentence) > 50
    assert text.count(" […]\n") == 2
    assert "(3 of 3 lines)" in text


def test_explain_and_check_say_so(workspace: Workspace) -> None:
    """Each with the names; without a host, only what is true of every prompt."""
    fill(workspace, MEMORY=MEMORY * 2, SITE="- A page.\n" * 30)
    explained = explain_prompt(workspace.context, "chat", host="codex")
    assert explained.truncated == ("MEMORY.md",)
    assert explained.omitted == ("SITE.md",)
    rules = {candidate.name: candidate.rule for candidate in explained.candidates}
    assert (rules["SITE.md"], rules["MEMORY.md"]) == ("over_budget", "injected")
    found = check_prompt(workspace.context, "chat", host="codex", max_characters=9_000)
    assert not found.fits
    assert (found.truncated, found.omitted) == (("MEMORY.md",), ("SITE.md",))
    assert 8_000 < found.characters <= found.max_characters == 9_000
    assert explain_prompt(workspace.context, "chat").truncated == ()


def test_the_setting_is_the_limit(tmp_path: Path) -> None:
    """If the call names none."""
    Workspace.create(tmp_path, agent="ada")
    with (tmp_path / "looseleaf.toml").open("a") as file:
        file.write("hook_characters = 1500\n")
    document = to_json_value(
        compose_prompt(Workspace.open(tmp_path).context, "chat", format="hook")
    )
    assert (
        "[Not all of your memory fits here." in document["hookSpecificOutput"]["additionalContext"]
    )
    assert len(encode_document(document, indent=None)) <= 1_500


@pytest.mark.parametrize("limit", [{"host": "emacs"}, {"characters": 999}, {"characters": True}])
def test_a_limit_that_cannot_be_is_refused(limit: dict[str, object]) -> None:
    """In one sentence."""
    with pytest.raises(Invalid, match=r"hosts: any, claude-code, codex|at least 1,000"):
        HostLimit(**limit)  # type: ignore[arg-type]


SAYS = Directive(name="says", priority=1, make=lambda _desk: ())
TEXTS = st.lists(
    st.sampled_from(["- a fact\n", "## Part\n", "é🙂", '"\\', "\x7f\u202e", "\U000e0041", "x" * 90])
)


@st.composite
def pieces(draw: st.DrawFn) -> Piece:
    """Render a page of some rank, a directive's words, or a notice."""
    text = "".join(draw(TEXTS)) * draw(st.integers(1, 60)) or "x"
    kind = draw(st.sampled_from(["page", "words", "missing"]))
    name = draw(st.sampled_from(["A.md", "B.md", "a-rather-long-name-of-a-page.md"]))
    if kind == "words":
        return Piece(SAYS, Text(text) if text.strip() else Text("x"), text)
    if kind == "missing":
        return Piece(SAYS, LeftOut(name, "not_text", "agent"), f"[{name}: {text[:200]}]")
    source = Source(file=name, layer="agent", bytes=len(text), rank=draw(st.integers(1, 3)))
    shown = f"<page>\n{text}\n</page>"
    return Piece(SAYS, Text(shown, source), shown)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.data_too_large])
@given(
    given_pieces=st.lists(pieces(), max_size=12),
    characters=st.integers(1_000, 12_000),
    host=st.sampled_from(HOSTS),
)
def test_whatever_the_pages_the_output_fits(
    workspace: Workspace, given_pieces: list[Piece], characters: int, host: str
) -> None:
    """As printed, counted by the host; in the same order, and nothing is invented."""
    request = workspace.compose("chat", "ada").request
    assembly = Assembly(request, tuple(given_pieces), 0.0)
    limit = HostLimit(host, characters, agent="ada")
    given = fit_to_host(assembly, limit)
    document = to_json_value(formats.build_document(given, "hook"))
    assert host_size(encode_document(document, indent=None), host) <= characters
    assert limit.output_size(given) <= characters
    names = [piece.name for piece in given.pieces if piece.name != "host-memory"]
    names = names[: len(given_pieces)]
    assert names == [piece.name for piece in given_pieces]
    whole = set(assembly.messages)
    for piece in given.pieces:
        assert (
            piece.text in whole
            or piece.name in (*given.truncated, "host-limit", "host-memory", "")
            or not piece.text
        )


def test_pages_stay_in_their_order(workspace: Workspace) -> None:
    """Importance decides what is kept, priority where it stands."""
    fill(workspace, MEMORY=MEMORY * 2, USER="Eve.\n")
    given = fit_to_host(workspace.compose("chat", "ada"), HostLimit())
    assert list_pages(given) == ["SOUL.md", "USER.md", "MEMORY.md"]
