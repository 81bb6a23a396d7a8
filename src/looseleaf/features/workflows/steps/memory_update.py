"""The step `memory_update`: a section or the day's entry, from a packet by a template."""

from __future__ import annotations

from looseleaf.errors.features import InvalidStep
from looseleaf.errors.pages import AssembledText
from looseleaf.features.workflows.jobs.effects import edit_once
from looseleaf.features.workflows.packet import create_packet
from looseleaf.features.workflows.step import StepOutcome, StepType
from looseleaf.features.workflows.steps.texts import (
    LONGEST_TEMPLATE,
    MATERIAL,
    fill_from_packet,
    find_misspelling,
    require_material,
)
from looseleaf.files.folders import casefold_name
from looseleaf.memory import sections
from looseleaf.memory.day import resolve_day
from looseleaf.memory.pages import MAIN
from looseleaf.memory.provenance import FROM_AGENT, FROM_TOOL
from looseleaf.prompt.outputs import holds_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from looseleaf.features.workflows.step import StepRun
    from looseleaf.memory.provenance import Origin
    from looseleaf.memory.scope import Scope
    from looseleaf.settings import Settings


def run_memory_update(run: StepRun) -> StepOutcome:
    """Change the page once for this job and step, also if the process dies."""
    packet = require_material(run)
    text = fill_from_packet(run, run.settings.get("template", "{{content}}"), packet)
    if not text.strip():
        return StepOutcome(status="failed", reason="The template gave no text to remember.")
    if holds_block(text):
        raise AssembledText
    mode = run.settings.get("mode", "append")
    scope, edit = _resolve_target(run, text, mode)
    origin: Origin = FROM_AGENT if packet.type == "ai_response" else FROM_TOOL
    change = run.parts.change(run, mode, origin=origin)
    replacement = text if mode == "set" else None
    write = edit_once(run, scope, edit, change=change, replacement=replacement)
    data = {"page": scope.filename, "operation": mode, "revision": write.revision}
    if run.settings.get("section"):
        data["section"] = run.settings["section"]
    packets = (create_packet("memory_update", data, now=run.parts.clock()),)
    return StepOutcome(packets=packets, writes=(write,))


def _resolve_target(run: StepRun, text: str, mode: str) -> tuple[Scope, Callable[[str], str]]:
    """Resolve the page, and the function that edits it; raise if the agent may not."""
    if run.settings["target"] == "daily":
        if mode != "append":
            raise InvalidStep(run.step.id, "a day of the journal is appended to; mode is append")
        # The day of the job's start: a second run after midnight must find the first one's change.
        day = resolve_day(None, run.job.started_at or run.job.created_at)
        scope = run.parts.page_scope(run, day.filename, "append")
        return scope, lambda page: sections.append_lines(page or day.heading, text)
    section = run.settings.get("section", "")
    if not section:
        raise InvalidStep(run.step.id, "section is missing; it is the part of the page to change")
    file = run.settings.get("file", MAIN)
    if mode == "append":
        scope = run.parts.page_scope(run, file, "append")
        return scope, lambda page: sections.append_to_section(page, section, text)
    scope = run.parts.page_scope(run, file, "write")
    return scope, lambda page: sections.set_section(page, section, text)


# Pages by which people rule an agent; a step could not write them.
_RULING_PAGES = ("soul.md", "site.md", "rules.md", "network.md", "agents.md")


def find_fault(settings: Mapping[str, Any], _workspace: Settings, *, is_whole: bool) -> str:
    """Return why the settings of the step cannot work, or ""."""
    file, is_daily = str(settings.get("file", MAIN)), settings.get("target") == "daily"
    if is_daily and settings.get("mode", "append") != "append":
        return "mode is append where the target is daily: a day only grows"
    if not is_daily and casefold_name(file) in _RULING_PAGES:
        return f"file cannot be {file}, which people write; take {MAIN} or another page"
    if is_whole and settings.get("target") == "section" and not settings.get("section"):
        return "section is missing; it is the part of the page to change"
    return find_misspelling(settings, ("template",))


MEMORY_UPDATE = StepType(
    name="memory_update",
    label="Memory update",
    description="Write what the job learned into a section of a page, or into the day's entry.",
    run=run_memory_update,
    find_fault=find_fault,
    takes=MATERIAL,
    gives=("memory_update",),
    has_effect=True,
    settings={
        "type": "object",
        "required": ["target"],
        "additionalProperties": False,
        "properties": {
            "target": {
                "type": "string",
                "enum": ["section", "daily"],
                "title": "Place",
                "description": "A section of a page, or the entry of the job's day.",
            },
            "file": {
                "type": "string",
                "maxLength": 200,
                "default": MAIN,
                "format": "page",
                "title": "Page",
                "description": "The page with the section.",
                "x-when": {"target": ["section"]},
            },
            "section": {
                "type": "string",
                "minLength": 1,
                "maxLength": 200,
                "title": "Section",
                "description": "The heading of the section; a new one is added to the page.",
                "x-when": {"target": ["section"]},
            },
            "mode": {
                "type": "string",
                "enum": ["append", "set"],
                "default": "append",
                "title": "Way of writing",
                "description": "append adds the text; set replaces the text of the section.",
                "x-when": {"target": ["section"]},
            },
            "template": {
                "type": "string",
                "minLength": 1,
                "maxLength": LONGEST_TEMPLATE,
                "default": "{{content}}",
                "title": "Text",
                "description": "The text, with names such as {{content}}, {{title}} and {{date}}.",
            },
        },
    },
)
