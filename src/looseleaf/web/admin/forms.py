"""Forms of people who are signed in: read within limits, and accepted only with a CSRF token."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from looseleaf.errors import Invalid
from looseleaf.web.http.authentication import FORM_PROOF, session_cookie_of
from looseleaf.web.http.bodies import FORM, media_type_of
from looseleaf.web.http.responses import RequestError
from looseleaf.web.rest.calls import authenticator_of, body_of
from looseleaf.web.uploads import FORM as FILE_FORM
from looseleaf.web.uploads import read_form as read_file_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.datastructures import UploadFile
    from starlette.requests import Request

SURFACE = "admin"
MOST_FIELDS = 1000
SHOWN = "shown:"  # before a prefix of checkboxes: the field that names all of them


async def read_form(request: Request) -> dict[str, str]:
    """Read a form of a signed-in person; its CSRF token counts like the header."""
    authenticator_of(request).authentication.session(session_cookie_of(request))
    if media_type_of(request) != FORM:
        raise RequestError(415, "unsupported_media_type", "Send the form as a browser does.")
    form = parse_form(await body_of(request))
    request.scope[FORM_PROOF] = form.pop("csrf", "")
    return form


def has_file(request: Request) -> bool:
    """Return whether the form of a request has a file."""
    return request.headers.get("content-type", "").lower().startswith(FILE_FORM)


async def read_form_with_file(request: Request) -> tuple[dict[str, str], UploadFile]:
    """Read a form with one file, stored on disk while it arrives; the token counts as above."""
    authenticator_of(request).authentication.session(session_cookie_of(request))
    upload, form = await read_file_form(request)
    request.scope[FORM_PROOF] = form.pop("csrf", "")
    return form, upload


def parse_form(body: bytes) -> dict[str, str]:
    """Parse the fields of a form; of several fields with one name, the last one counts."""
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
        )
    except ValueError:
        message = "The form is not UTF-8, or has too many fields."
        raise RequestError(400, "invalid_form", message) from None
    return dict(pairs)


def read_selection(form: Mapping[str, str], prefix: str, selection: Iterable[str]) -> list[str]:
    """Return a selection after a form that showed some of its choices: what it did not show stays.

    `selection` is the one before. A template writes `shown(prefix, names)` beside the checkboxes;
    a form without this field takes nothing away.
    """
    try:
        shown = {str(name) for name in json.loads(form.get(SHOWN + prefix, "[]"))}
    except (ValueError, TypeError):
        raise Invalid("The form does not name its choices. Load the page again.") from None
    before = list(selection)
    names = [name for name in before if name not in shown or prefix + name in form]
    checked = [name.removeprefix(prefix) for name in form if name.startswith(prefix)]
    return names + [name for name in checked if name not in before]
