"""The statuses in the OpenAPI document, each with its meaning here."""

from __future__ import annotations

from typing import Any

MEANINGS = {
    400: "The request is wrong as it stands; nothing was done.",
    401: "There is no valid credential: send one.",
    403: "The principal lacks a right; the message names it.",
    404: "Nothing of that name exists, or you may not see it.",
    405: "The address does not take that method.",
    406: "JSON cannot hold the page; ask for text.",
    408: "The request did not arrive in time.",
    409: "The page has changed, the name is taken, or the session is being answered.",
    412: "The page is not the version that the headers name; the message names both versions.",
    413: "Too many bytes.",
    415: "Send UTF-8 text or JSON, uncompressed and not as a form.",
    428: "The settings require every change to name the version that it replaces.",
    429: "Too many failed logins from this address.",
    500: "A fault of the server.",
    502: "The model did not answer; the message is kept.",
    503: "The store or the database cannot answer now; nothing was written.",
    507: "The disk is full; the old bytes are intact.",
}
_READ_STATUSES = (400, 401, 403, 404, 405, 429, 500, 503)
_WRITE_STATUSES = (*_READ_STATUSES, 408, 409, 412, 413, 415, 428, 507)


ENVELOPE: dict[str, Any] = {
    "type": "object",
    "required": ["success", "data"],
    "properties": {"success": {"const": True}, "data": {}},
}


def describe_success(
    description: str = "Done.", schema: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Describe a successful response: our envelope, or another schema."""
    content = {"application/json": {"schema": ENVELOPE if schema is None else schema}}
    return {"description": description, "content": content}


def describe_failures(method: str, *extra_statuses: int) -> dict[str, Any]:
    """Describe every way in which a request can fail."""
    is_reading = method in ("GET", "HEAD")
    return {
        str(status): {
            "description": MEANINGS[status],
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        for status in sorted(
            {*(_READ_STATUSES if is_reading else _WRITE_STATUSES), *extra_statuses}
        )
    }
