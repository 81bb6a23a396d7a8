"""Errors in the answers of a server, as the errors that were raised on the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf import errors
from looseleaf.errors import (
    Conflicted,
    Invalid,
    LooseleafError,
    NotFound,
    Refused,
    Unavailable,
    access,
    agents,
    bundles,
    chat,
    models,
    operations,
    pages,
    upkeep,
    workflows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The error for a code that this version does not know, by the status of the answer.
_BY_STATUS: dict[int, type[LooseleafError]] = {
    **dict.fromkeys((400, 405, 406, 413, 415), Invalid),
    **dict.fromkeys((401, 403, 428), Refused),
    **dict.fromkeys((409, 412), Conflicted),
    **dict.fromkeys((408, 429, 502, 503, 504, 507), Unavailable),
    404: NotFound,
}


_MODULES = (errors, access, agents, bundles, chat, models, operations, pages, upkeep, workflows)


def _list_kinds() -> Iterator[tuple[str, type[LooseleafError]]]:
    for module in _MODULES:
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, LooseleafError) and "code" in vars(kind):
                yield kind.code, kind


_KINDS = dict(_list_kinds())


def build_error(status: int, code: str, message: str, data: Mapping[str, object]) -> LooseleafError:
    """Build the error of an answer: its class by the code, with the message of the server."""
    kind = _KINDS.get(code) or _BY_STATUS.get(status, LooseleafError)
    # Without `__init__`, which would format the message again.
    error = kind.__new__(kind, message)
    if error.code != code:
        error.code = code
    for name, detail in data.items():
        if name != "status" and name.isidentifier() and not hasattr(kind, name):
            setattr(error, name, tuple(detail) if isinstance(detail, list) else detail)
    return error
