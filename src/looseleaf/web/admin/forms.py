"""Forms of people who are signed in: read within bounds, and taken only with their token."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from looseleaf.web.http.authentication import FORM_PROOF, session_cookie
from looseleaf.web.http.bodies import FORM, media_type
from looseleaf.web.http.request_errors import Problem
from looseleaf.web.rest.calls import authenticator_of, body_of

if TYPE_CHECKING:
    from starlette.requests import Request

SURFACE = "admin"
MOST_FIELDS = 1000


async def read_form(request: Request) -> dict[str, str]:
    """Read a form of someone who is signed in; its token then counts as the header does."""
    authenticator_of(request).authentication.session(session_cookie(request))
    if media_type(request) != FORM:
        raise Problem(415, "unsupported_media_type", "Send the form as a browser does.")
    form = parse_form(await body_of(request))
    request.scope[FORM_PROOF] = form.pop("csrf", "")
    return form


def parse_form(body: bytes) -> dict[str, str]:
    """Take the fields of a form from a body; of several with one name, the last."""
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
        )
    except ValueError:
        message = "The form is not UTF-8, or has too many fields."
        raise Problem(400, "invalid_form", message) from None
    return dict(pairs)
