"""An upload that the next form sends again, so that a person decides after a preview of it."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from looseleaf.errors import Invalid

if TYPE_CHECKING:
    from looseleaf.plugins.admin_pages import UploadedFile, Visit


def encode_upload(visit: Visit, file: UploadedFile) -> str:
    """Read an upload as base64; one that is too large for the next form is refused.

    In a form, the base64 of an archive is about one and a half times as long as its bytes.
    """
    limit = visit.context.settings.max_request_bytes * 2 // 3
    content = file.content.read(limit + 1)
    if len(content) > limit:
        raise Invalid(
            f"The file has more than {limit:,} bytes. Use the command line of the server, or ask "
            "the operator to raise max_request_bytes."
        )
    return b64encode(content).decode()
