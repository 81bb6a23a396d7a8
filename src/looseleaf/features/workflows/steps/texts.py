"""The packet that a step works with, and the texts of the packet for a template."""

from __future__ import annotations

import json
import re

from looseleaf.errors.features import InvalidStep
from looseleaf.times import format_date, format_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from looseleaf.features.workflows.packet import Packet
    from looseleaf.features.workflows.step import StepRun


# Templates: texts with `{{name}}`, filled in one pass, so that inserted texts are not filled.


LONGEST_TEMPLATE = 20_000
_PLACE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.-]{0,99})\s*\}\}")


def fill_template(template: str, texts: Mapping[str, str], *, step: str) -> str:
    """Replace names by their texts; raise `InvalidStep` if a name has none."""

    def text_of(place: re.Match[str]) -> str:
        name = place[1]
        if name not in texts:
            names = ", ".join(sorted(texts))
            raise InvalidStep(step, f"the template asks for {{{{{name}}}}}; there are: {names}")
        return texts[name]

    return _PLACE.sub(text_of, template)


def list_names(template: str) -> tuple[str, ...]:
    """List the names that a template asks for, each once."""
    return tuple(dict.fromkeys(_PLACE.findall(template)))


CALL = "webhook"  # the packet of a call that opened a gate
MATERIAL = ("ai_response", "item", CALL, "task_result")  # packets that bring a text
_USUAL = ("content", "title", "url", "id", "published")
_OF_CALL = ("approved", "by", "note")  # what the page of a job and `jobs open-gate` may send


_OF_JOB = ("date", "time", "job", "pipeline", "flow", "step", "type", "timestamp")
_KNOWN = (*_USUAL, *_OF_JOB, *(f"{CALL}.{name}" for name in _OF_CALL))
_SHORTEST_SWAP, _SHORTEST_GAP, _SHORTEST_SLIP = 4, 7, 8  # letters of a name


def find_misspelling(settings: Mapping[str, Any], templates: Iterable[str]) -> str:
    """Return why a template asks for what was not meant, with the name of the setting, or "".

    Packets may have any fields, so that a name is not wrong for being unknown; refused is a name
    with the slip of a finger in one that every packet has.
    """
    for setting in templates:
        text = settings.get(setting)
        for name in list_names(text) if isinstance(text, str) else ():
            meant = next((known for known in _KNOWN if is_misspelling(name, known)), "")
            if meant:
                return f"{setting} asks for {{{{{name}}}}}; {{{{{meant}}}}} is meant"
    return ""


def is_misspelling(name: str, known: str) -> bool:
    """Return whether a name is a known one with two letters swapped, one missing or one more.

    What may be a word of its own is none, such as `titles`, `mtime`, `data` or `context`.
    """
    if name in _KNOWN:
        return False
    length, difference = len(known), len(name) - len(known)
    if difference == 0:
        places = [place for place in range(length) if name[place] != known[place]]
        if len(places) == 1:
            is_inside = places[0] < length - 1  # another end makes another word: publisher
            return is_inside and length >= _SHORTEST_SLIP
        is_pair = len(places) == 2 and places[1] == places[0] + 1
        is_swap = is_pair and name[places[0]] == known[places[1]]
        return is_swap and name[places[1]] == known[places[0]] and length >= _SHORTEST_SWAP
    if difference == -1:
        is_part = any(known[:at] + known[at + 1 :] == name for at in range(length))
        return is_part and length >= _SHORTEST_GAP
    is_more = any(name[:at] + name[at + 1 :] == known for at in range(1, length))
    return difference == 1 and is_more and length >= _SHORTEST_SWAP


def require_material(run: StepRun) -> Packet:
    """Return the newest packet that brings a text, or raise `InvalidStep`."""
    packet = find_material(run.packets)
    if packet is None:
        raise InvalidStep(run.step.id, "no step before it gave a packet with a text")
    return packet


def find_material(packets: Iterable[Packet]) -> Packet | None:
    """Return the newest packet that brings a text, or None.

    A call that opened a gate approves the text before it, and stands beside that text. The call is
    the text itself only if it brings a `content`, or if no step before it gave a text.
    """
    call = None
    for packet in packets:
        if packet.type == CALL and not _brings_content(packet):
            call = call or packet
        elif packet.type in MATERIAL:
            return packet
    return call


def _brings_content(call: Packet) -> bool:
    content = read_body(call).get("content")
    return isinstance(content, str) and bool(content.strip())


def read_body(call: Packet) -> dict[str, Any]:
    """Return the fields of the body of a call, empty for a body that is no object."""
    body = call.data.get("body")
    return dict(body) if isinstance(body, dict) else {}


def build_template_texts(run: StepRun, packet: Packet) -> dict[str, str]:
    """Build the texts for a template: from the packet, the job and the day.

    The day is that of the start of the job, so that a step that runs again after midnight gives
    the same text. Fields of the last call that opened a gate have `webhook.` before their names.
    """
    texts = dict.fromkeys(_USUAL, "")
    texts |= {name: format_text(entry) for name, entry in packet.data.items()}
    if packet.type == CALL:
        texts |= {"content": texts["body"]} | _list_fields(packet)
    if packet.type == "task_result":
        texts["content"] = format_text(packet.data.get("result", ""))
    call = next((earlier for earlier in run.packets if earlier.type == CALL), None)
    if call is not None:
        texts |= {f"{CALL}.{name}": "" for name in _OF_CALL}
        texts |= {f"{CALL}.{name}": text for name, text in _list_fields(call).items()}
    start = run.job.started_at or run.job.created_at
    return texts | {
        "date": format_date(start),
        "time": format_time(start),
        "job": str(run.job.id),
        "pipeline": run.pipeline.name,
        "flow": run.flow.name,
        "step": run.step.id,
        "type": packet.type,
        "timestamp": packet.timestamp,
    }


def _list_fields(call: Packet) -> dict[str, str]:
    return {name: format_text(entry) for name, entry in read_body(call).items()}


def fill_from_packet(run: StepRun, template: str, packet: Packet) -> str:
    """Fill a template of the step's settings with the texts of a packet."""
    return fill_template(template, build_template_texts(run, packet), step=run.step.id)


def format_text(entry: object) -> str:
    """Return a part of a packet as text: a text as it is, anything else as JSON."""
    return entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False, indent=1)
