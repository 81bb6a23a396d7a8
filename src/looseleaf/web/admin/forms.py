"""Forms of people who are signed in: read within limits, and accepted only with a CSRF token."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from looseleaf.errors import Invalid
from looseleaf.web.http.authentication import FORM_PROOF
from looseleaf.web.http.bodies import FORM, check_value_count, media_type_of, parse_body
from looseleaf.web.http.responses import RequestError
from looseleaf.web.rest.calls import authenticator_of, budget_of, read_bytes
from looseleaf.web.uploads import FORM as FILE_FORM
from looseleaf.web.uploads import read_form as read_file_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.datastructures import UploadFile
    from starlette.requests import Request

SURFACE = "admin"
MOST_FIELDS = 1000
SHOWN = "shown:"  # before a prefix of checkboxes: the field that names all of them
_PART_BYTES = 65_536  # of a form that is decoded at once


async def read_form(request: Request) -> dict[str, str]:
    """Read a form of a signed-in person; its CSRF token counts like the header."""
    authenticator_of(request).require_session(request)
    if media_type_of(request) != FORM:
        raise RequestError(415, "unsupported_media_type", "Send the form as a browser does.")
    form = await read_fields(
        request, authenticator_of(request).workspace.settings.max_request_bytes
    )
    request.scope[FORM_PROOF] = form.pop("csrf", "")
    return form


def has_file(request: Request) -> bool:
    """Return whether the form of a request has a file."""
    return request.headers.get("content-type", "").lower().startswith(FILE_FORM)


async def read_form_with_file(request: Request) -> tuple[dict[str, str], UploadFile]:
    """Read a form with one file, stored on disk while it arrives; the token counts as above."""
    authenticator_of(request).require_session(request)
    upload, form = await read_file_form(request)
    request.scope[FORM_PROOF] = form.pop("csrf", "")
    return form, upload


async def read_fields(request: Request, size: int) -> dict[str, str]:
    """Read the fields of a form within a limit; a large form is parsed in a thread."""
    raw = await read_bytes(request, size)
    return await parse_body(partial(parse_form, raw), len(raw), budget_of(request))


def parse_form(body: bytes) -> dict[str, str]:
    """Parse the fields of a form; of several fields with one name, the last one counts."""
    problem = RequestError(400, "invalid_form", "The form is not UTF-8, or has too many fields.")
    if body.count(b"&") >= MOST_FIELDS:
        raise problem
    try:
        pairs = [field.partition(b"=")[::2] for field in body.split(b"&") if field]
        return {_unquote(name): _unquote(text) for name, text in pairs}
    except UnicodeDecodeError:
        raise problem from None


def _unquote(field: bytes) -> str:
    """Decode a name or a text in parts: the standard library takes 60 bytes for each escape."""
    parts, start = [], 0
    while start < len(field):
        end = start + _PART_BYTES
        sign = field.rfind(b"%", end - 2, end)  # an escape that the end would cut
        end = sign if sign > start else end
        parts.append(unquote_to_bytes(field[start:end].replace(b"+", b" ")))
        start = end
    return b"".join(parts).decode()


def read_selection(form: Mapping[str, str], prefix: str, selection: Iterable[str]) -> list[str]:
    """Return a selection after a form that showed some of its choices: what it did not show stays.

    `selection` is the one before. A template writes `shown(prefix, names)` beside the checkboxes;
    a form without this field takes nothing away.
    """
    field = form.get(SHOWN + prefix, "[]")
    check_value_count(field.encode())
    try:
        shown = {str(name) for name in json.loads(field)}
    except (ValueError, TypeError):
        raise Invalid("The form does not name its choices. Load the page again.") from None
    before = list(selection)
    names = [name for name in before if name not in shown or prefix + name in form]
    checked = [name.removeprefix(prefix) for name in form if name.startswith(prefix)]
    return names + [name for name in checked if name not in before]
