"""Error fields of the original WordPress plugin, besides the message.

The codes of our errors are our own and stable; `data.ability_error_code` holds the code of the
plugin's ability, and the other fields of `data` have the names of the plugin.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from looseleaf.errors import Forbidden, Invalid, InvalidDate, LooseleafError, NotFound
from looseleaf.errors.agents import AgentExists
from looseleaf.errors.pages import DailyMemoryOff, NotEditable, Protected, SectionMissing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INVALID = "ability_invalid_input"
_FORBIDDEN = "ability_invalid_permissions"
# By operation and kind of error; the first match counts.
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
_COMMON_CODES: tuple[tuple[type[LooseleafError], str], ...] = (
    (Invalid, _INVALID),
    (Forbidden, _FORBIDDEN),
)
_ARGUMENT_FIELDS = {
    "file": "filename",
    "filename": "filename",
    "date": "date",
    "agent_slug": "agent_slug",
}


@contextmanager
def add_error_fields(operation: str, arguments: Mapping[str, Any]) -> Iterator[None]:
    """Add the fields that the original plugin gives in `data` to the errors of a call."""
    try:
        yield
    except LooseleafError as error:
        for name, field in build_error_fields(operation, arguments, error).items():
            # The response of an error has all attributes of the error as `data`.
            error.__dict__.setdefault(name, field)
        raise


def build_error_fields(
    operation: str, arguments: Mapping[str, Any], error: LooseleafError
) -> dict[str, object]:
    """Return the fields of `data` that the original has for an error of an operation."""
    fields: dict[str, object] = {
        field: arguments[name]
        for name, field in _ARGUMENT_FIELDS.items()
        if isinstance(arguments.get(name), str)
    }
    if "filename" in fields:
        fields["file"] = fields["filename"]
    if isinstance(error, NotFound):
        fields |= {"success": False, "message": str(error)}
    if isinstance(error, SectionMissing):
        fields["available_sections"] = error.available
    if isinstance(error, InvalidDate):
        fields["params"] = {"date": str(error)}
    codes = (*CODES.get(operation, ()), *_COMMON_CODES)
    code = next((code for kind, code in codes if isinstance(error, kind)), None)
    return {**fields, "ability_error_code": code} if code else fields
