"""History: the versions of a page, compared word by word, and restoring one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import LooseleafError
from looseleaf.memory.store import ABSENT
from looseleaf.memory.text.word_diff import diff_words
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.web.admin.views.memory.page_header import read_header
from looseleaf.web.admin.views.memory.pages import render_page

if TYPE_CHECKING:
    from looseleaf.memory.history import Revision
    from looseleaf.plugins.admin_pages import Visit
    from looseleaf.web.admin.views.memory.page_header import PageHeader

PREVIOUS, PRESENT = "previous", "present"
MOST_LISTED = 100  # revisions in the list; the slider reaches all of them


def show_history(visit: Visit) -> Document | Redirect:
    """Show one revision, compared with the one before or with the page as it is now."""
    header = read_header(visit, is_new_allowed=True)
    if not header.revisions:
        return Document("memory/history_empty.html", f"History of {header.file}", {"page": header})
    against = PRESENT if visit.query.get("against") == PRESENT else PREVIOUS
    revision = _find_revision(header, visit.query.get("revision", ""))
    counterpart = _find_counterpart(header, revision, against)
    text, other_text = _read_text(visit, header, revision), _read_text(visit, header, counterpart)
    old, new = (text, other_text) if against == PRESENT else (other_text, text)
    data = {
        "page": header,
        "revision": revision,
        "other": counterpart,
        "against": against,
        "diff": diff_words(old, new) if old is not None and new is not None else None,
        "text": text,
        "html": render_page(text, header.agent, header.layer) if text else "",
        "shows_text": visit.query.get("show") == "text",
        "listed": tuple(reversed(header.revisions))[:MOST_LISTED],
        "is_present": revision.number == header.revisions[-1].number,
    }
    return Document("memory/history.html", f"History of {header.file}", data)


def _find_revision(header: PageHeader, number: str) -> Revision:
    return next(
        (revision for revision in header.revisions if str(revision.number) == number),
        header.revisions[-1],
    )


def _find_counterpart(header: PageHeader, revision: Revision, against: str) -> Revision | None:
    if against == PRESENT:
        return header.revisions[-1]
    place = header.revisions.index(revision)
    return header.revisions[place - 1] if place else None


def _read_text(visit: Visit, header: PageHeader, revision: Revision | None) -> str | None:
    """Read one revision, or "" if there was no page, None if its text is no longer kept."""
    if revision is None or not revision.hash:
        return ""
    try:
        page = visit.run(
            "datamachine/get-agent-file",
            file=header.file,
            agent=header.agent,
            layer=header.layer,
            as_of=str(revision.number),
        )
    except LooseleafError:
        return None
    return str(page.content)


def restore_page(visit: Visit) -> Document | Redirect:
    """Restore the text of a revision, as a new revision."""
    header = read_header(visit, is_new_allowed=True)
    result = visit.run(
        "looseleaf/restore-page",
        file=header.file,
        revision=visit.form.get("revision", ""),
        agent=header.agent,
        layer=header.layer,
        if_match=visit.form.get("version") or header.hash or ABSENT,
    )
    notice = (
        f"{header.file} has the text of revision {visit.form.get('revision')} again, "
        f"as revision {result.revision}; nothing is lost."
    )
    return Redirect(header.link("pages"), notice)
