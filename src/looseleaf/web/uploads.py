"""Uploads: one file of a form, streamed to disk within the limits of the settings."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from looseleaf.web.http.authentication import sender_of
from looseleaf.web.http.bodies import build_too_busy
from looseleaf.web.http.responses import RequestError, build_too_large
from looseleaf.web.rest.calls import authenticator_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request

    from looseleaf.web.http.bodies import BodyBudget

FORM = "multipart/form-data"
OVERHEAD = 65_536  # bytes of a form besides its file: borders, headers and fields
_MOST_FIELDS = 8
_MOST_FIELD_BYTES = 4_096
_PATIENCE = 10  # how many times longer an upload may take than another body
MOST_UPLOADS = 10  # of the largest size, arriving at once; one sender may have half of them


async def read_form(request: Request) -> tuple[UploadFile, dict[str, str]]:
    """Read a form with one file; large files are stored on disk while they arrive."""
    settings = authenticator_of(request).workspace.settings
    limit = settings.max_upload_bytes + OVERHEAD
    stream = _limit_stream(request, limit)
    parser = MultiPartParser(
        request.headers,
        stream,
        max_files=1,
        max_fields=_MOST_FIELDS,
        max_part_size=_MOST_FIELD_BYTES,
    )
    budget: BodyBudget = request.app.state.upload_budget
    sender, has_room = sender_of(request), False
    seconds = settings.request_seconds * _PATIENCE
    try:
        async with asyncio.timeout(seconds), budget.reserve(sender, limit):
            has_room = True
            form = await parser.parse()
    except TimeoutError:
        if not has_room:
            raise build_too_busy(seconds) from None
        message = "The upload did not arrive in time."
        raise RequestError(408, "too_slow", message, headers={"connection": "close"}) from None
    except (MultiPartException, KeyError) as error:
        raise RequestError(400, "invalid_form", f"The form cannot be read: {error}.") from None
    except ClientDisconnect:
        raise RequestError(400, "disconnected", "The request ended too early.") from None
    upload = form.get("file")
    if not isinstance(upload, UploadFile):
        await form.close()
        message = 'The form needs a file: curl -F "file=@notes.txt" -F flow_step_id=…'
        raise RequestError(400, "missing_file", message)
    fields = {name: field for name, field in form.multi_items() if isinstance(field, str)}
    return upload, fields


async def _limit_stream(request: Request, limit: int) -> AsyncGenerator[bytes, None]:
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise build_too_large(limit)
        yield part
