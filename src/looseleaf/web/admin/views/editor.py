"""The editor: preview, save by hash, and both versions merged by section if they differ."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from looseleaf.catalog import dispatch
from looseleaf.catalog.resolution import agent_of
from looseleaf.errors import Conflicted, LooseleafError
from looseleaf.errors.pages import LossRefused, PageMissing
from looseleaf.files.mounts import format_size
from looseleaf.memory.differences import diff_words
from looseleaf.memory.hidden_characters import describe_hidden
from looseleaf.memory.section_merge import CHOICES, compare_sections, merge_sections
from looseleaf.memory.sections import list_sections
from looseleaf.memory.store import ABSENT
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.values import replace
from looseleaf.web.admin.forms import SURFACE, read_form
from looseleaf.web.admin.views.pages import (
    PageHeader,
    find_prompt_place,
    measure,
    read_header,
    render_page,
)
from looseleaf.web.http.connection import STOPPING
from looseleaf.web.http.responses import JSON, encode_json
from looseleaf.web.http.workers import streams_of
from looseleaf.web.rest.calls import authenticator_of, workers_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from looseleaf.catalog.context import Context
    from looseleaf.memory.history import Revision
    from looseleaf.memory.pages import Saved
    from looseleaf.plugins.admin_pages import Visit


PREVIEW, MERGE = "preview", "merge"
MOST_SECTIONS = 200  # in the outline


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
        "sections": visit.cut(list_sections(text), MOST_SECTIONS, name="sections", links=False),
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
    return Redirect(header.link("pages"), _describe_saved(result))


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


def _describe_saved(result: Saved) -> str:
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


# The live preview of the editor: a text rendered, measured and outlined while it is typed.


PREVIEW_PATH = "/admin/preview/{agent}/{layer}/{file:path}"


async def show_preview(request: Request) -> Response:
    """Return the HTML, the size and the sections of the text that is being typed."""
    form = await read_form(request)
    context = authenticator_of(request).context(request, SURFACE)
    text = form.get("content", "").replace("\r\n", "\n")
    work = partial(_describe_preview, context, dict(request.path_params), text)
    description = await workers_of(request).read(context.principal.user_id, work)
    return Response(encode_json(description), media_type=JSON)


def _describe_preview(context: Context, place: dict[str, str], text: str) -> dict[str, Any]:
    agent = agent_of(context.with_permission("read"), place["agent"])
    size = measure(context, place["file"], text)
    return {
        "html": render_page(text, agent.slug, place["layer"]),
        "gauge": size.sentence,
        "percent": size.percent,
        "is_over": size.is_over,
        "sections": [
            {
                "name": section.name or "Without a title",
                "offset": section.start,
                "size": format_size(section.bytes),
            }
            for section in list_sections(text)[:MOST_SECTIONS]
        ],
    }


# Notices that a page open in a browser was changed elsewhere, as server-sent events.
# The page is polled, as MCP does for its clients: polling sees every change, also by an editor
# or git, on every store.


CHANGES_PATH = "/admin/changes/{agent}/{layer}/{file:path}"
EVENTS = "text/event-stream"
SECONDS = 1.0  # between two reads of the page
LONGEST_SECONDS = 600.0  # of one stream; then the browser connects again by itself


async def show_changes(request: Request) -> Response:
    """Send one event when the page is no longer the version that is open."""
    context = authenticator_of(request).context(request, SURFACE)
    place = {name: str(part) for name, part in request.path_params.items()}
    version = request.query_params.get("version", "")
    await _read_version(request, context, place)  # a page that may not be read is refused here
    streams_of(request).take(context.principal.user_id)
    return StreamingResponse(_watch(request, context, place, version), media_type=EVENTS)


async def _watch(
    request: Request, context: Context, place: dict[str, str], version: str
) -> AsyncIterator[bytes]:
    """Read the page until it changes, the credential ends or the server stops."""
    try:
        yield b": open\n\n"
        for count in range(int(LONGEST_SECONDS / SECONDS)):
            if request.scope.get(STOPPING) or not context.is_current():
                return
            if await _read_version(request, context, place) != version:
                revision = await _find_last_change(request, context, place)
                yield b"event: changed\ndata: %s\n\n" % encode_json(
                    _describe_change(place, revision)
                )
                return
            if count % 15 == 14:
                yield b": still here\n\n"
            await asyncio.sleep(SECONDS)
    except LooseleafError:
        return  # the page may no longer be read; the browser connects again and gets the error
    finally:
        streams_of(request).leave(context.principal.user_id)


async def _read_version(request: Request, context: Context, place: dict[str, str]) -> str:
    work = partial(dispatch.run_operation, context, "datamachine/get-agent-file", place)
    try:
        page = await workers_of(request).read(context.principal.user_id, work)
    except PageMissing:
        return ""
    return str(page.hash)  # type: ignore[attr-defined]


async def _find_last_change(
    request: Request, context: Context, place: dict[str, str]
) -> Revision | None:
    work = partial(dispatch.run_operation, context, "looseleaf/page-history", place)
    try:
        revisions = await workers_of(request).read(context.principal.user_id, work)
    except LooseleafError:
        return None
    last: Revision = revisions[-1]  # type: ignore[index]
    return last


def _describe_change(place: dict[str, str], revision: Revision | None) -> dict[str, str]:
    address = (
        f"/admin/agents/{quote(place['agent'])}/history/{place['layer']}/{quote(place['file'])}"
    )
    actor = (revision.actor if revision else "") or "Someone"
    surface = f" through {revision.surface}" if revision and revision.surface else ""
    return {"message": f"{actor} changed {place['file']}{surface} just now.", "address": address}
