"""What the original WordPress plugin says of an error besides its message.

The codes of our errors are our own and stable; the code that the plugin's ability would have given
stands in `data.ability_error_code`, and the other fields of `data` stand where the plugin has them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from looseleaf.errors import (
    AgentExists,
    DailyMemoryOff,
    Forbidden,
    Invalid,
    InvalidDate,
    LooseleafError,
    NotEditable,
    NotFound,
    Protected,
    SectionMissing,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INVALID = "ability_invalid_input"
_FORBIDDEN = "ability_invalid_permissions"
# By operation and kind of error; the first that fits.
CODES: dict[str, tuple[tuple[type[LooseleafError], str], ...]] = {
    "datamachine/daily-memory-delete": (
        (DailyMemoryOff, "daily_memory_disabled"),
        (NotFound, "daily_memory_delete_failed"),
    ),
    "datamachine/daily-memory-read": ((NotFound, "daily_memory_read_failed"),),
    "datamachine/daily-memory-write": ((DailyMemoryOff, "daily_memory_disabled"),),
    "datamachine/delete-agent-file": (
        (Protected, "agent_file_protected"),
        (NotFound, "agent_file_not_found"),
    ),
    "datamachine/get-agent-file": ((NotFound, "agent_file_not_found"),),
    "datamachine/get-agent-memory": ((NotFound, "agent_memory_read_failed"),),
    "datamachine/list-agent-memory-sections": ((NotFound, "agent_memory_list_sections_failed"),),
    "datamachine/search-agent-memory": ((NotFound, "agent_memory_search_failed"),),
    "datamachine/update-agent-memory": ((NotEditable, "memory_file_read_only"),),
    "datamachine/write-agent-file": (
        (NotEditable, "agent_file_read_only"),
        (Forbidden, "agent_file_forbidden"),
    ),
    "looseleaf/create-agent": ((AgentExists, "agent_slug_conflict"),),
}
_FOR_ALL: tuple[tuple[type[LooseleafError], str], ...] = (
    (Invalid, _INVALID),
    (Forbidden, _FORBIDDEN),
)
_ABOUT = {"file": "filename", "filename": "filename", "date": "date", "agent_slug": "agent_slug"}


@contextmanager
def plugin_errors(operation: str, given: Mapping[str, Any]) -> Iterator[None]:
    """Let the errors of a call carry the fields that the original plugin gives in `data`."""
    try:
        yield
    except LooseleafError as error:
        for name, known in plugin_fields(operation, given, error).items():
            # The answer of an error gives all that the error knows as `data`.
            error.__dict__.setdefault(name, known)
        raise


def plugin_fields(
    operation: str, given: Mapping[str, Any], error: LooseleafError
) -> dict[str, object]:
    """Give the fields of `data` that the original has for an error of an operation."""
    fields: dict[str, object] = {
        field: given[name] for name, field in _ABOUT.items() if isinstance(given.get(name), str)
    }
    if "filename" in fields:
        fields["file"] = fields["filename"]
    if isinstance(error, NotFound):
        fields |= {"success": False, "message": str(error)}
    if isinstance(error, SectionMissing):
        fields["available_sections"] = error.available
    if isinstance(error, InvalidDate):
        fields["params"] = {"date": str(error)}
    codes = (*CODES.get(operation, ()), *_FOR_ALL)
    code = next((code for kind, code in codes if isinstance(error, kind)), None)
    return {**fields, "ability_error_code": code} if code else fields
