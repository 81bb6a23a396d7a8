"""Packets are plain JSON with a schema per type."""

from __future__ import annotations

import json

import pytest

from looseleaf.errors import InvalidName, Refused
from looseleaf.errors.features import InvalidPacket
from looseleaf.features.workflows.packet import (
    Packet,
    PacketTypes,
    create_packet,
    parse_packet,
    register_core_packets,
)


@pytest.fixture
def packets() -> PacketTypes:
    """Return the built-in types of packets."""
    types = PacketTypes()
    register_core_packets(types)
    return types


def test_a_packet_survives_json() -> None:
    """What is written is what is read."""
    packet = create_packet("item", {"content": "Text"}, now=0.0, metadata={"source": "feed"})
    assert packet.timestamp == "1970-01-01T00:00:00Z"
    assert parse_packet(json.loads(json.dumps(packet.to_json()))) == packet


@pytest.mark.parametrize(
    "document",
    [
        None,
        {"type": "item"},
        {"type": "", "timestamp": "x", "data": {}, "metadata": {}},
        {"type": "item", "timestamp": "x", "data": [], "metadata": {}},
        {"type": "item", "timestamp": "x", "data": {}, "metadata": {}, "more": 1},
    ],
)
def test_what_is_no_packet_is_refused(document: object) -> None:
    """The envelope has four keys, no more and no fewer."""
    with pytest.raises(InvalidPacket):
        parse_packet(document)


def test_the_data_of_a_packet_fits_its_type(packets: PacketTypes) -> None:
    """A missing key and an unknown type are named."""
    packets.check(create_packet("item", {"content": "Text"}, now=0.0))
    with pytest.raises(InvalidPacket, match=r"data\.content is missing"):
        packets.check(Packet("item", "now", {"title": "x"}))
    with pytest.raises(InvalidPacket, match="the types are: ai_response, item"):
        packets.check(Packet("letter", "now"))


def test_types_are_registered_once_and_in_time(packets: PacketTypes) -> None:
    """A name is taken, odd or too late, or a schema has rules nobody applies."""
    with pytest.raises(InvalidPacket, match="there is a type of that name"):
        packets.register("item", "Again.")
    with pytest.raises(InvalidName):
        packets.register("An Item", "Odd.")
    with pytest.raises(InvalidPacket, match="'pattern'"):
        packets.register("letter", "A letter.", schema={"pattern": "x"})
    assert packets.register("letter", "A letter.").name in packets
    assert [kind.name for kind in packets.all()][:2] == ["ai_response", "item"]
    packets.freeze()
    with pytest.raises(Refused):
        packets.register("late", "Late.")
