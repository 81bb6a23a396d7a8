"""The editor: preview, save by hash, and both versions merged by section if they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import Conflicted, LooseleafError
from looseleaf.errors.pages import LossRefused
from looseleaf.memory.sections import list_sections
from looseleaf.memory.store import ABSENT
from looseleaf.memory.text.hidden_characters import describe_hidden
from looseleaf.memory.text.section_merge import CHOICES, compare_sections, merge_sections
from looseleaf.memory.text.word_diff import diff_words
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.values import replace
from looseleaf.web.admin.views.memory.gauge import measure
from looseleaf.web.admin.views.memory.page_header import PageHeader, read_header
from looseleaf.web.admin.views.memory.pages import find_prompt_place, render_page

if TYPE_CHECKING:
    from looseleaf.memory.pages import Saved
    from looseleaf.plugins.admin_pages import Visit

PREVIEW, MERGE = "preview", "merge"


def edit_page(visit: Visit) -> Document | Redirect:
    """Show the editor; a form that was refused keeps its text."""
    header = read_header(visit, is_new_allowed=True)
    text = read_form_text(visit, header) if "content" in visit.form else header.text
    version = visit.form.get("version", header.hash or ABSENT)
    return _show_editor(visit, header, text, version)


def _show_editor(visit: Visit, header: PageHeader, text: str, version: str) -> Document:
    data = {
        "page": replace(header, gauge=measure(visit.context, header.file, text)),
        "text": text,
        "version": version,
        "html": render_page(text, header.agent, header.layer),
        "sections": list_sections(text)[:200],
        "hidden": describe_hidden(text),
        "place": find_prompt_place(visit, header.file),
        "asks_shrink": isinstance(visit.problem, LossRefused),
    }
    return Document("memory/edit.html", f"Edit {header.file}", data)


def read_form_text(visit: Visit, header: PageHeader) -> str:
    """Return the typed text with the page's line ends; browsers send every line end as CR LF."""
    text = visit.form.get("content", "").replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\n", "\r\n") if "\r\n" in header.text else text


def save_page(visit: Visit) -> Document | Redirect:
    """Save the text, show a preview, or save the merged text."""
    header = read_header(visit, is_new_allowed=True)
    text = read_form_text(visit, header)
    version = visit.form.get("version", "")
    action = visit.form.get("action", "")
    if action == PREVIEW:
        return _show_editor(visit, header, text, version)
    if action == MERGE:
        text, version = _merge(visit, header, text)
    try:
        result = _write(visit, header, text, version)
    except Conflicted:
        return show_conflict(visit, text)
    return Redirect(header.link("pages"), _describe(result))


def _write(visit: Visit, header: PageHeader, text: str, version: str) -> Saved:
    result: Saved = visit.run(
        "datamachine/write-agent-file",
        file=header.file,
        content=text,
        agent=header.agent,
        layer=header.layer,
        if_match=version,
        allow_shrink=visit.form.get("allow_shrink") == "yes",
    )
    return result


def _describe(result: Saved) -> str:
    if not result.changed:
        return f"{result.filename} has this text already; nothing was changed."
    return " ".join([f"Saved {result.filename} as revision {result.revision}.", *result.warnings])


def show_conflict(visit: Visit, own_text: str) -> Document:
    """Show both versions side by side, section by section, and what saving will keep."""
    header = read_header(visit, is_new_allowed=True)
    base_version = visit.form.get("base") or visit.form.get("version", "")
    parts = compare_sections(_read_base(visit, header, base_version), own_text, header.text)
    rows = [
        (place, part, diff_words(part.base or "", part.theirs or "").lines,
         diff_words(part.base or "", part.mine or "").lines)
        for place, part in enumerate(parts)
    ]  # fmt: skip
    data = {"page": header, "mine": own_text, "base": base_version, "rows": rows}
    return Document("memory/conflict.html", f"{header.file} changed elsewhere", data, 409)


def _merge(visit: Visit, header: PageHeader, own_text: str) -> tuple[str, str]:
    """Merge the page as chosen; `theirs` names the version that the choices refer to."""
    page_version = visit.form.get("theirs", "")
    if page_version != (header.hash or ABSENT):
        return own_text, page_version  # the page changed again: saving shows both again
    parts = compare_sections(
        _read_base(visit, header, visit.form.get("base", "")), own_text, header.text
    )
    choices = {
        place: visit.form[f"part-{place}"]
        for place in range(len(parts))
        if visit.form.get(f"part-{place}") in CHOICES
    }
    return merge_sections(parts, choices), page_version


def _read_base(visit: Visit, header: PageHeader, version: str) -> str | None:
    """Read the version that the edit began with, or None if it is no longer kept."""
    if version == ABSENT:
        return ""
    number = next(
        (revision.number for revision in header.revisions if revision.hash == version), None
    )
    if number is None:
        return None
    try:
        page = visit.run(
            "datamachine/get-agent-file",
            file=header.file,
            agent=header.agent,
            layer=header.layer,
            as_of=str(number),
        )
    except LooseleafError:
        return None
    return str(page.content)
