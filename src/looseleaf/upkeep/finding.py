"""A finding: the result of one check of a workspace's pages, folders or database."""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


@value
class Finding:
    """The check, its status and detail, and the advice to follow."""

    check: str
    status: Literal["ok", "warning", "fault"]
    detail: str
    advice: str = ""
