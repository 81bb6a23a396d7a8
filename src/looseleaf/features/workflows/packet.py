"""Packets: the plain JSON that steps hand on, and the schema of each type of packet."""

from __future__ import annotations

from looseleaf.errors.features import InvalidPacket
from looseleaf.memory.registry import NamedRegistry, check_word
from looseleaf.schema_check import find_problem, find_schema_problem
from looseleaf.times import format_time
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@value
class Packet:
    """One piece of data that the steps of a job hand on.

    Fields:
        type: The type of packet, which decides the schema of `data`.
        timestamp: The time at which the step made it, such as 2026-04-17T09:30:00Z.
        data: The content.
        metadata: Facts about the content, such as its source; steps may read them.
    """

    type: str
    timestamp: str
    data: Mapping[str, Any] = FrozenDict()
    metadata: Mapping[str, Any] = FrozenDict()

    def to_json(self) -> dict[str, Any]:
        """Return the packet as plain JSON."""
        return {
            "type": self.type,
            "timestamp": self.timestamp,
            "data": dict(self.data),
            "metadata": dict(self.metadata),
        }


def create_packet(
    kind: str,
    data: Mapping[str, Any],
    *,
    now: float,
    metadata: Mapping[str, Any] | None = None,
) -> Packet:
    """Build a packet with the present time."""
    return Packet(kind, format_time(now), dict(data), dict(metadata or {}))


def parse_packet(document: Any) -> Packet:  # noqa: ANN401 - any JSON
    """Read a packet from plain JSON, or raise `InvalidPacket`."""
    problem = find_problem(_ENVELOPE, document)
    if problem is not None:
        raise InvalidPacket("?", problem)
    return Packet(**document)


@value
class PacketType:
    """A type of packet; `schema` is the JSON schema of its data."""

    name: str
    description: str
    schema: Mapping[str, Any] = FrozenDict()
    owner: str = ""


class PacketTypes(NamedRegistry):
    """The types of packets of one workspace."""

    noun, hook = "type of packet", "register_steps"

    def register(
        self,
        name: str,
        description: str,
        *,
        schema: Mapping[str, Any] | None = None,
        owner: str = "",
    ) -> PacketType:
        """Add a type of packet, or refuse it."""
        self._refuse_if_frozen(name)
        check_word(name, "type of packet")
        if name in self._entries:
            raise InvalidPacket(name, "there is a type of that name; deregister it first")
        problem = find_schema_problem(schema or {})
        if problem is not None:
            raise InvalidPacket(name, problem)
        self._entries[name] = PacketType(name, description, schema or {}, owner)
        return self._entries[name]  # type: ignore[no-any-return]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def all(self) -> tuple[PacketType, ...]:
        """Return every type, by name."""
        return tuple(self._entries[name] for name in sorted(self._entries))

    def check(self, packet: Packet) -> None:
        """Raise `InvalidPacket` if a packet does not fit the schema of its type."""
        kind = self._entries.get(packet.type)
        if kind is None:
            names = ", ".join(sorted(self._entries))
            raise InvalidPacket(packet.type, f"there is no such type; the types are: {names}")
        problem = find_problem(kind.schema, packet.data, "data")
        if problem is not None:
            raise InvalidPacket(packet.type, problem)


_TEXT = {"type": "string"}
_ENVELOPE = {
    "type": "object",
    "required": ["type", "timestamp", "data", "metadata"],
    "additionalProperties": False,
    "properties": {
        "type": {"type": "string", "minLength": 1, "maxLength": 100},
        "timestamp": {"type": "string", "minLength": 1, "maxLength": 40},
        "data": {"type": "object"},
        "metadata": {"type": "object"},
    },
}


def _build_object_schema(*names: str, **properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with required texts, and further properties."""
    texts = dict.fromkeys(names, _TEXT)
    return {"type": "object", "required": list(names), "properties": texts | properties}


def register_core_packets(packets: PacketTypes) -> None:
    """Register the types of packets that the built-in steps take and give."""
    packets.register(
        "item",
        "A piece of source material: a text, a file, an entry of a feed or of a JSON document.",
        schema=_build_object_schema("content", title=_TEXT, url=_TEXT, id=_TEXT, published=_TEXT),
    )
    packets.register(
        "ai_response",
        "The answer of a model.",
        schema=_build_object_schema("content", title=_TEXT, model=_TEXT),
    )
    packets.register(
        "tool_result",
        "The result of a tool that a model called.",
        schema=_build_object_schema("tool_name", "content", success={"type": "boolean"}),
    )
    packets.register(
        "memory_update",
        "A change of a page.",
        schema=_build_object_schema(
            "page", "operation", revision={"type": "integer"}, section=_TEXT
        ),
    )
    packets.register(
        "publication",
        "A published text and its place.",
        schema=_build_object_schema("target", url=_TEXT),
    )
    packets.register(
        "webhook", "The body of an inbound call.", schema=_build_object_schema(body={})
    )
    packets.register(
        "task_result",
        "The result of a system task.",
        schema=_build_object_schema("task_type", result={"type": "object"}),
    )
