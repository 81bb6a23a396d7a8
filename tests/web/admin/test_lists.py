"""No list is cut in silence: it offers more, and a form keeps what it did not show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from looseleaf.errors import Invalid
from looseleaf.plugins.admin_pages import ListPart, Visit
from looseleaf.web.admin.forms import read_selection
from looseleaf.web.admin.opened_forms import list_forms
from tests.web.admin.pages import ADDRESSES, fill, find_target
from tests.web.fixtures import Opens, Site

SOURCE = Path(__file__).parents[3] / "src" / "looseleaf"
VIEWS = [*SOURCE.glob("web/admin/views/*.py"), *SOURCE.glob("features/*/*views.py")]


@pytest.mark.parametrize("path", VIEWS, ids=lambda path: path.name)
def test_a_view_cuts_lists_by_visit_cut_alone(path: Path) -> None:
    """A slice by a constant would cut a list without a word."""
    slices = re.findall(r"(\w+)\[:(MOST\w*)\]", path.read_text())
    allowed = {
        ("text", "MOST_CHARACTERS"),
        ("arguments", "MOST_CHARACTERS"),
        ("lines", "MOST_LINES"),  # compared word by word; the whole block is a link away
        ("rest", "MOST"),  # pages of agents and people, each with its link to the next
        ("entries", "MOST"),  # the audit, which has such a link
        ("side_agents", "MOST"),
    }
    assert not set(slices) - allowed


def cut_to_one(monkeypatch: pytest.MonkeyPatch) -> list[ListPart]:
    """Let every list of a view show one entry, and collect the lists that are cut by that."""
    parts: list[ListPart] = []
    cut = Visit.cut

    def cut_short(visit: Visit, entries: object, most: int, **options: object) -> ListPart:
        part = cut(visit, entries, min(most, 1), **options)  # type: ignore[arg-type]
        if part.is_cut:
            parts.append(part)
        return part

    monkeypatch.setattr(Visit, "cut", cut_short)
    return parts


def test_every_cut_list_says_so_and_offers_more(
    shown_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every page, with lists of one entry; a list that has no link says where the rest is."""
    parts = cut_to_one(monkeypatch)
    browser, _csrf = shown_site.sign_in()
    found = 0
    for name, path in ADDRESSES.items():
        parts.clear()
        text = browser.get(path).text
        for part in list(parts):
            assert f"{part.first + 1:,} to {part.first + len(part):,} of {part.total:,} " in text, (
                name
            )
            if part.later:
                following = browser.get(path.partition("?")[0] + part.later)
                assert following.status_code == 200
                assert "2 to 2 of " in following.text, name
        found += len(parts)
    assert found > 10


def test_a_form_keeps_what_it_did_not_show() -> None:
    """What it showed is as it was checked; new choices come last."""
    form = {"shown:file:": '["b", "c", "d"]', "file:c": "yes", "file:d": "yes"}
    assert read_selection(form, "file:", ["c", "a", "b"]) == ["c", "a", "d"]
    assert read_selection({"file:b": "yes"}, "file:", ["a"]) == ["a", "b"]
    for wrong in ("{", "1"):
        with pytest.raises(Invalid):
            read_selection({"shown:file:": wrong}, "file:", ["a"])


def test_saving_a_cut_picker_changes_nothing(opens: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    """A selected page that the picker does not show stays selected, in its place."""
    site = opens()
    files = ["c.md", "a.md", "b.md"]
    for file in [*files, "d.md"]:
        site.run("datamachine/write-agent-file", file=file, content="x", agent="ada")
    site.run("looseleaf/create-pipeline", agent="ada", name="News", memory_files=files)
    site.run("looseleaf/create-flow", pipeline=1, name="Daily", memory_files=files)
    cut_to_one(monkeypatch)
    browser, csrf = site.sign_in()
    for kind in ("pipeline", "flow"):
        address = f"/admin/agents/ada/{kind}s/1"
        text = browser.get(address).text
        fields = dict(re.findall(r'name="(file:[^"]+|shown:file:|version)" value="([^"]*)"', text))
        fields["shown:file:"] = fields["shown:file:"].replace("&#34;", '"')
        assert [name for name in fields if name.startswith("file:")] == ["file:c.md"]
        answer = browser.post(address, data={"csrf": csrf, "action": "memory", **fields})
        assert answer.status_code == 303, answer.text
        saved = site.run(f"looseleaf/show-{kind}", **{kind: 1})
        assert saved["memory_files"] == files
        assert "Find a page" in text


def test_every_form_with_choices_names_them(shown_site: Site) -> None:
    """So that a part of a list can be told from a choice that was taken away."""
    browser, _csrf = shown_site.sign_in()
    count = 0
    for name, path in ADDRESSES.items():
        for form in re.findall(r"<form\b.*?</form>", browser.get(path).text, re.DOTALL):
            prefixes = set(re.findall(r'type="checkbox" name="(\w+:)', form))
            shown = set(re.findall(r'name="shown:(\w+:)"', form))
            assert prefixes - {"remove:"} <= shown, name
            count += len(shown)
    assert count


def test_a_search_offers_all_lines_of_a_place(opens: Opens) -> None:
    """With the totals of pages and journal apart."""
    site = opens(daily_memory_enabled=True)
    lines = "".join(f"- embargo {number}\n" for number in range(130))
    site.run("datamachine/write-agent-file", file="MEMORY.md", content=lines, agent="ada")
    for day in (10, 11, 12):
        entry = {"date": f"2026-04-{day}", "content": lines[: lines.index(" 20")]}
        site.run("datamachine/daily-memory-write", agent="ada", **entry)
    browser, _csrf = site.sign_in()
    text = browser.get("/admin/search?q=embargo").text
    assert "1 to 20 of 130 lines." in text
    assert "1 to 20 of 63 lines." in text
    alone = browser.get("/admin/search?q=embargo&agent=ada&in=agent").text
    assert "1 to 100 of 130 lines." in alone
    following = re.search(r'href="(\?[^"]*from-lines=100)"', alone)
    assert following is not None
    rest = browser.get(f"/admin/search{following[1].replace('&amp;', '&')}").text
    assert "101 to 130 of 130 lines." in rest
    assert "<mark>embargo</mark> 129" in rest
    journal = browser.get("/admin/agents/ada/journal?q=embargo").text
    assert "42 of 63 lines, the newest days first." in journal
    earlier = re.search(r'href="([^"]+until=2026-04-10)"', journal)
    assert earlier is not None
    assert "<mark>embargo</mark> 19" in browser.get(earlier[1].replace("&amp;", "&")).text


SHOWN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("looseleaf/show-pipeline", {"pipeline": 1}),
    ("looseleaf/show-flow", {"flow": 1}),
    ("looseleaf/show-agent", {"agent": "ada"}),
    ("looseleaf/show-user", {"user": "eve"}),
    ("looseleaf/list-settings", {}),
    ("looseleaf/list-task-prompts", {}),
)
OF_A_SAVE = ("hash", "updated", "source")  # what a save without a change may touch


def read_state(site: Site) -> list[object]:
    """Return everything that forms edit."""

    def leave_out(part: object) -> object:
        if isinstance(part, dict):
            return {name: leave_out(item) for name, item in part.items() if name not in OF_A_SAVE}
        return [leave_out(item) for item in part] if isinstance(part, list) else part

    return [leave_out(site.run(name, **arguments)) for name, arguments in SHOWN]


def test_saving_any_form_as_it_is_changes_nothing(
    opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each form of each page, sent as it is shown, with lists that show one entry alone."""
    site = opens()
    fill(site)
    for file in ("a.md", "b.md", "content-strategy.md"):
        site.run("datamachine/write-agent-file", file=file, content="x", agent="ada")
    files = ["b.md", "content-strategy.md", "a.md"]
    site.run("looseleaf/update-pipeline", pipeline=1, memory_files=files)
    site.run(
        "looseleaf/update-flow", flow=1, memory_files=files, prompt_queue=["One\n---\nTwo", "Three"]
    )
    policy = {"mode": "deny", "tools": ["agent_memory", "compose_prompt"], "categories": ["chat"]}
    denied = {"mode": "deny", "deny": ["MEMORY.md", "notes/*"], "binds": "access"}
    config = {"tool_policy": policy, "memory_policy": denied, "models": {"chat": "echo:x"}}
    config["daily_memory"] = {"enabled": True, "recent_days": 5}
    site.run("looseleaf/configure-agent", agent="ada", config=config)
    cut_to_one(monkeypatch)
    browser, csrf = site.sign_in()
    before, saved = read_state(site), 0
    for name, path in ADDRESSES.items():
        for form in list_forms(browser.get(path).text):
            if not form.fields or "multipart" in form.html:
                continue
            hidden = {item.name: item.content for item in form.controls if item.kind == "hidden"}
            button = re.search(r'<button[^>]*name="(\w+)" value="([^"]*)"', form.html)
            pressed = {button[1]: button[2]} if button else {}
            fields = {**hidden, **form.fields, **pressed, "csrf": csrf}
            answer = browser.post(find_target(form.html, path), data=fields)
            saved += answer.status_code == 303
            assert read_state(site) == before, (name, fields)
    assert saved > 8
