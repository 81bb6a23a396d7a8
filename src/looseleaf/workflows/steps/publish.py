"""The step `publish`: a file below a folder that the operator allows, or a post on WordPress."""

from __future__ import annotations

from looseleaf.errors.workflows import InvalidStep
from looseleaf.memory.sections import end_line
from looseleaf.workflows.packet import create_packet
from looseleaf.workflows.sources.item import cut_text
from looseleaf.workflows.step import StepOutcome, StepType
from looseleaf.workflows.steps.packet_texts import MATERIAL, fill_from_packet, require_material
from looseleaf.workflows.steps.template import LONGEST_TEMPLATE
from looseleaf.workflows.steps.wordpress import Post, publish_post

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.workflows.packet import Packet
    from looseleaf.workflows.step_run import StepRun

MOST_BYTES = 1_000_000
_LONGEST_TITLE = 200


def run_publish(run: StepRun) -> StepOutcome:
    """Publish the newest text once, and return its place as a packet."""
    packet = require_material(run)
    text = fill_from_packet(run, run.settings.get("template", "{{content}}"), packet)
    if not text.strip():
        return StepOutcome(status="failed", reason="The template gave no text to publish.")
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise InvalidStep(run.step.id, f"the text has more than {MOST_BYTES} bytes")
    target = run.settings["target"]
    data = (_publish_file if target == "file" else _publish_post)(run, packet, text)
    packets = (create_packet("publication", {"target": target, **data}, now=run.parts.clock()),)
    return StepOutcome(packets=packets)


def _publish_file(run: StepRun, packet: Packet, text: str) -> dict[str, str]:
    for name in ("folder", "filename"):
        if not run.settings.get(name):
            raise InvalidStep(run.step.id, f"{name} is missing; a file needs it")
    name = fill_from_packet(run, run.settings["filename"], packet)
    folder = run.settings["folder"]
    path = run.parts.publish_folders.write(
        folder, name, end_line(text).encode(), replace=run.settings.get("replace", False)
    )
    return {"folder": folder, "path": path}


def _publish_post(run: StepRun, packet: Packet, text: str) -> dict[str, str]:
    site = run.parts.find_site(run.settings.get("site", ""))
    title = fill_from_packet(run, run.settings.get("title", "{{title}}"), packet)
    title = cut_text(" ".join(title.split()), _LONGEST_TITLE)
    post = Post(title, text, run.settings.get("status", "draft"), run.effect_key)
    run.report_progress(f"publishes on {site.name}")
    return publish_post(run.parts.requests, site, post)


PUBLISH = StepType(
    name="publish",
    label="Publish",
    description=(
        "Write a file below a folder that the operator allows, or a post on a WordPress site."
    ),
    run=run_publish,
    takes=MATERIAL,
    gives=("publication",),
    has_effect=True,
    settings={
        "type": "object",
        "required": ["target"],
        "additionalProperties": False,
        "properties": {
            "target": {"type": "string", "enum": ["file", "wordpress"]},
            "folder": {
                "type": "string",
                "maxLength": 100,
                "description": "The name of a folder in the setting publish_folders.",
            },
            "filename": {
                "type": "string",
                "maxLength": 500,
                "description": "The name of the file, such as {{date}}-{{job}}.md.",
            },
            "replace": {
                "type": "boolean",
                "default": False,
                "description": "Whether a file with another text may be replaced.",
            },
            "site": {
                "type": "string",
                "maxLength": 100,
                "description": "The name of a site in the setting wordpress_sites.",
            },
            "status": {
                "type": "string",
                "enum": ["draft", "pending", "private", "publish"],
                "default": "draft",
            },
            "title": {"type": "string", "maxLength": 500, "default": "{{title}}"},
            "template": {
                "type": "string",
                "minLength": 1,
                "maxLength": LONGEST_TEMPLATE,
                "default": "{{content}}",
            },
        },
    },
)
