"""The live preview of the editor: a text rendered, measured and outlined while it is typed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.catalog.resolution import agent_of
from looseleaf.files.file_size import format_size
from looseleaf.memory.sections import list_sections
from looseleaf.web.admin.forms import SURFACE, read_form
from looseleaf.web.admin.views.memory.gauge import measure
from looseleaf.web.admin.views.memory.pages import render_page
from looseleaf.web.http.responses import JSON, encode_json
from looseleaf.web.rest.calls import authenticator_of, workers_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from looseleaf.catalog.context import Context

PATH = "/admin/preview/{agent}/{layer}/{file:path}"
MOST_SECTIONS = 200


async def show_preview(request: Request) -> Response:
    """Return the HTML, the size and the sections of the text that is being typed."""
    form = await read_form(request)
    context = authenticator_of(request).context(request, SURFACE)
    text = form.get("content", "").replace("\r\n", "\n")
    work = partial(_describe, context, dict(request.path_params), text)
    description = await workers_of(request).read(context.principal.credential, work)
    return Response(encode_json(description), media_type=JSON)


def _describe(context: Context, place: dict[str, str], text: str) -> dict[str, Any]:
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
