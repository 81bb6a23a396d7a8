"""Whose page and which: one validator that refuses and never rewrites."""

from __future__ import annotations

import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import LooseleafError, Scope, Shelf
from looseleaf.errors import InvalidName
from looseleaf.files.folders import casefold_name
from looseleaf.memory.scope import MAX_NAME_BYTES, check_filename, check_folder

HOSTILE = [
    *("", " ", ".", "..", "/", "//", "a", "a.", ".md", ".hidden.md", "..md", "a.md.", "a.md "),
    *(
        "/etc/passwd.md",
        "/a.md",
        "//a.md",
        "../a.md",
        "../../secret.md",
        "a/../b.md",
        "a/..",
        "./a.md",
    ),
    *(
        "a//b.md",
        "a/",
        "a/./b.md",
        "a/.git/b.md",
        ".looseleaf/x.md",
        "x/.looseleaf/y.md",
        ".git/a.md",
    ),
    *("a\\b.md", "..\\a.md", "C:\\a.md", "C:a.md", "a.md:stream", "a:b.md", "a*.md", "a?.md"),
    *('a".md', "a<.md", "a>.md", "a|.md", "a\0.md", "a\n.md", "a\r.md", "a\t.md", "a\x7f.md"),
    *("a\x85.md", "a\u2028.md", "a\u2029.md", "a\u202e.md", "a\u200b.md", "a\ufeff.md", "a\xad.md"),
    *("CON.md", "con.md", "nul.md", "NUL", "aux.md", "prn.txt", "com1.md", "LPT9.md", "x/con.md"),
    *("con.x.md", "PROGRA~1.md", "a~12.md", " a.md", "a /b.md", "a./b.md", "a/ b.md"),
    *(
        "e\u0301.md",
        "A\u030a.md",
        "\ud800.md",
        "a.php",
        "a.json",
        "agent.json",
        "a.md/b",
        "a.exe.md~",
    ),
    *("%2e%2e%2fa.md", "a%2Fb.md", "a%00.md", "%41.md", "a\xa0.md", "a\u3000/b.md", "a\u2003b.md"),
    *("com¹.md", "LPT³.md", "CONIN$.md", "conout$"),
    *("x" * 198 + ".md", "é" * 100 + ".md", "/".join("a" * 13) + ".md", "\udcff.md", "a.MD5"),
]
GOOD = [
    *(
        "MEMORY.md",
        "contexts/editor.md",
        "daily/2026/04/17.md",
        "a b.md",
        "é.md",
        "日本語.md",
        "a.b.md",
    ),
    *("README.MD", "notes.txt", "x.markdown", "C++ (x).md", "a&b.md", "100%.md", "~a.md", "a~b.md"),
    *("5% off.md", "50%a.md", "%.md"),
    *("x" * 197 + ".md", "console.md", "com10.md", "🙂.md", "a'b.md", "[a].md", "#a.md", "-a.md"),
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused(name: str) -> None:
    """With an error that says why, and never by making another name of it."""
    with pytest.raises(InvalidName, match="cannot be used as a name"):
        check_filename(name)
    with pytest.raises(LooseleafError):
        Scope("agent", 0, 1, name)


def test_there_are_enough_hostile_names() -> None:
    """The list is what the promise asks for."""
    assert len(set(HOSTILE)) >= 60


@pytest.mark.parametrize("wrong", [None, 7, b"a.md", ["a.md"], object()])
def test_what_is_not_text_is_no_name(wrong: object) -> None:
    """Also what cannot be looked up in a set."""
    with pytest.raises(InvalidName, match="it must be text"):
        check_filename(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidName, match="it must be text"):
        check_folder(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", GOOD)
def test_ordinary_names_stay_as_they_are(name: str) -> None:
    """Spaces, punctuation, any script, folders."""
    assert check_filename(name) == name
    assert Scope("agent", 0, 1, name).filename == name


@given(st.text(max_size=60))
def test_no_accepted_name_leads_outside(name: str) -> None:
    """Whatever is accepted stays below the folder it is joined to, and is short enough."""
    for candidate in (name, name + ".md", f"folder/{name}.md"):
        try:
            accepted = check_filename(candidate)
        except InvalidName:
            continue
        assert accepted == candidate
        path = os.path.normpath(os.path.join("/root/agents/ada", accepted))
        assert path == f"/root/agents/ada/{accepted}"
        assert len(accepted.encode()) <= MAX_NAME_BYTES
        assert unicodedata.normalize("NFC", accepted) == accepted


@given(st.text(max_size=20))
def test_folding_is_stable_and_blind_to_case_and_form(name: str) -> None:
    """Folding twice changes nothing more; upper and decomposed spellings fold alike."""
    assert casefold_name(casefold_name(name)) == casefold_name(name) or not name.isascii()
    assert casefold_name(unicodedata.normalize("NFD", name)) == casefold_name(
        unicodedata.normalize("NFC", name)
    )
    if name.isascii():
        assert casefold_name(name.upper()) == casefold_name(name.lower())


def test_a_scope_keeps_only_what_its_layer_means() -> None:
    """One page has one identity, whoever asks for it."""
    assert Scope("shared", 7, 42, "RULES.md") == Scope("shared", 0, 0, "RULES.md")
    assert Scope("network", 7, 42, "NETWORK.md") == Scope("network", 8, 43, "NETWORK.md")
    assert Scope("user", 7, 42, "USER.md") == Scope("user", 7, 1, "USER.md")
    assert Scope("agent", 7, 42, "MEMORY.md") == Scope("agent", 8, 42, "MEMORY.md")
    assert Scope("user", 7, 42, "USER.md").key == "user:7:0:USER.md"


@pytest.mark.parametrize(
    ("layer", "user", "agent"),
    [
        *(("agent", 1, 0), ("agent", 1, -1), ("user", 0, 1), ("user", -3, 1), ("secret", 1, 1)),
        *(("Agent", 1, 1), ("", 1, 1), ("agent", 1, True), ("agent", 1, "1"), ("user", 1.0, 1)),
    ],
)
def test_a_scope_without_its_owner_is_refused(layer: str, user: object, agent: object) -> None:
    """Nobody's page is not somebody's."""
    with pytest.raises(InvalidName):
        Scope(layer, user, agent, "a.md")  # type: ignore[arg-type]
    with pytest.raises(InvalidName):
        Shelf(layer, user, agent)  # type: ignore[arg-type]


def test_a_shelf_names_its_pages_and_itself() -> None:
    """Names of shelves are unique."""
    shelves = [Shelf("shared"), Shelf("network"), Shelf("agent", 0, 3), Shelf("user", 3)]
    assert [shelf.name for shelf in shelves] == ["shared", "network", "agent-3", "user-3"]
    assert Shelf("agent", 9, 3).page("a.md") == Scope("agent", 0, 3, "a.md")
    assert Scope("agent", 0, 3, "a.md").shelf == Shelf("agent", 0, 3)


def test_a_folder_needs_no_ending() -> None:
    """It is checked like a page otherwise."""
    assert check_folder("daily/2026") == "daily/2026"
    with pytest.raises(InvalidName):
        check_folder("../x")
