"""Notices that a page open in a browser was changed elsewhere, as server-sent events.

The page is polled, as MCP does for its clients: polling sees every change, also by an editor or
git, on every store.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import StreamingResponse

from looseleaf.catalog import dispatch
from looseleaf.errors import LooseleafError
from looseleaf.errors.pages import PageMissing
from looseleaf.web.admin.forms import SURFACE
from looseleaf.web.http.connection import STOPPING
from looseleaf.web.http.open_streams import streams_of
from looseleaf.web.http.responses import encode_json
from looseleaf.web.rest.calls import authenticator_of, workers_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.catalog.context import Context
    from looseleaf.memory.history import Revision

PATH = "/admin/changes/{agent}/{layer}/{file:path}"
EVENTS = "text/event-stream"
SECONDS = 1.0  # between two reads of the page
LONGEST_SECONDS = 600.0  # of one stream; then the browser connects again by itself


async def show_changes(request: Request) -> Response:
    """Send one event when the page is no longer the version that is open."""
    context = authenticator_of(request).context(request, SURFACE)
    place = {name: str(part) for name, part in request.path_params.items()}
    version = request.query_params.get("version", "")
    await _read_version(request, context, place)  # a page that may not be read is refused here
    streams_of(request).take(context.principal.credential)
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
                yield b"event: changed\ndata: %s\n\n" % encode_json(_describe(place, revision))
                return
            if count % 15 == 14:
                yield b": still here\n\n"
            await asyncio.sleep(SECONDS)
    except LooseleafError:
        return  # the page may no longer be read; the browser connects again and gets the error
    finally:
        streams_of(request).leave(context.principal.credential)


async def _read_version(request: Request, context: Context, place: dict[str, str]) -> str:
    work = partial(dispatch.run_operation, context, "datamachine/get-agent-file", place)
    try:
        page = await workers_of(request).read(context.principal.credential, work)
    except PageMissing:
        return ""
    return str(page.hash)  # type: ignore[attr-defined]


async def _find_last_change(
    request: Request, context: Context, place: dict[str, str]
) -> Revision | None:
    work = partial(dispatch.run_operation, context, "looseleaf/page-history", place)
    try:
        revisions = await workers_of(request).read(context.principal.credential, work)
    except LooseleafError:
        return None
    last: Revision = revisions[-1]  # type: ignore[index]
    return last


def _describe(place: dict[str, str], revision: Revision | None) -> dict[str, str]:
    address = (
        f"/admin/agents/{quote(place['agent'])}/history/{place['layer']}/{quote(place['file'])}"
    )
    actor = (revision.actor if revision else "") or "Someone"
    surface = f" through {revision.surface}" if revision and revision.surface else ""
    return {"message": f"{actor} changed {place['file']}{surface} just now.", "address": address}
