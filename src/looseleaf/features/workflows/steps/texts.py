"""The packet that a step works with, and the texts of the packet for a template."""

from __future__ import annotations

import json
import re

from looseleaf.errors.features import InvalidStep
from looseleaf.times import format_date, format_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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


MATERIAL = ("ai_response", "item", "webhook", "task_result")  # packets that bring a text
_USUAL = ("content", "title", "url", "id", "published")


def require_material(run: StepRun) -> Packet:
    """Return the newest packet that brings a text, or raise `InvalidStep`."""
    for packet in run.packets:
        if packet.type in MATERIAL:
            return packet
    raise InvalidStep(run.step.id, "no step before it gave a packet with a text")


def build_template_texts(run: StepRun, packet: Packet) -> dict[str, str]:
    """Build the texts for a template: from the packet, the job and the day.

    The day is that of the start of the job, so that a step that runs again after midnight gives
    the same text.
    """
    texts = dict.fromkeys(_USUAL, "")
    texts |= {name: format_text(entry) for name, entry in packet.data.items()}
    if packet.type == "webhook":
        texts["content"] = format_text(packet.data.get("body", ""))
    if packet.type == "task_result":
        texts["content"] = format_text(packet.data.get("result", ""))
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


def fill_from_packet(run: StepRun, template: str, packet: Packet) -> str:
    """Fill a template of the step's settings with the texts of a packet."""
    return fill_template(template, build_template_texts(run, packet), step=run.step.id)


def format_text(entry: object) -> str:
    """Return a part of a packet as text: a text as it is, anything else as JSON."""
    return entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False, indent=1)
