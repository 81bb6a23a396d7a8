"""Fields of the JSON that a site of Data Machine gives, read without trust in their types."""

from __future__ import annotations

from looseleaf.errors import Invalid
from looseleaf.memory.scope import check_filename
from looseleaf.times import format_time
from looseleaf.workflows.definition_checks import is_core, is_step_id
from looseleaf.workflows.documents import ScheduleFields, read_schedule
from looseleaf.workflows.flow import CRON, MANUAL, ONE_TIME
from looseleaf.workflows.slug import make_slug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from looseleaf.memory.registry import FileRegistry


def as_object(document: object) -> dict[str, Any]:
    """Return an object of JSON; {} for anything else, such as the empty list that PHP writes."""
    return document if isinstance(document, dict) else {}


def as_list(document: object) -> list[Any]:
    """Return a list of JSON; [] for anything else."""
    return document if isinstance(document, list) else []


def map_schedule(config: Mapping[str, Any]) -> ScheduleFields:
    """Return a schedule of the source, paused; it is not checked."""
    interval, at = str(config.get("interval") or MANUAL), config.get("timestamp")
    if interval == ONE_TIME:
        is_time = isinstance(at, int | float) and not isinstance(at, bool)
        text = format_time(float(at)) if is_time else str(at or "")  # type: ignore[arg-type]
        return ScheduleFields(ONE_TIME, at=text, enabled=False)
    if interval == CRON:
        return ScheduleFields(CRON, cron=str(config.get("cron_expression") or ""), enabled=False)
    seconds = config.get("interval_seconds")
    fields = ScheduleFields(interval, enabled=False)
    try:
        read_schedule(fields)
    except Invalid:
        if read_id(seconds):
            return ScheduleFields(f"{seconds}s", enabled=False)
    return fields


def find_page_refusal(name: object, registry: FileRegistry) -> str:
    """Return why a pipeline or flow cannot select a page, or "" if it can."""
    if not isinstance(name, str):
        return "it is no name of a page"
    try:
        registered_file = registry.get(check_filename(name))
    except Invalid as error:
        return str(error)
    if registered_file is not None and is_core(registered_file):
        return "it is a core page here, which every prompt has already"
    return ""


def read_queue(queue: object) -> list[str]:
    """Read the prompts of a queue; empty ones do not count."""
    prompts = [
        entry.get("prompt") if isinstance(entry, dict) else entry for entry in as_list(queue)
    ]
    return [prompt for prompt in prompts if isinstance(prompt, str) and prompt.strip()]


def read_name(document: Mapping[str, Any], noun: str) -> str:
    """Read the name of a pipeline or flow on one line; without one, the noun."""
    name = document.get(f"{noun}_name")
    return " ".join(name.split()) if isinstance(name, str) and name.strip() else noun.capitalize()


def read_slug(document: Mapping[str, Any], name: str, noun: str, slugs: Collection[str]) -> str:
    """Read the slug of a pipeline or flow, with a number if it is taken."""
    slug = document.get("portable_slug")
    return make_slug(
        slug if isinstance(slug, str) and slug else name, fallback=noun, used_slugs=slugs
    )


def choose_step_id(step_id: str, position: int) -> str:
    """Choose the id of a step here: that of the source, if it is valid."""
    return step_id if is_step_id(step_id) else f"step-{position + 1}"


def read_id(number: object) -> int:
    """Read an id, a whole number above 0, which PHP may write as text, or 0 if it is none."""
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 16:
        return int(number)
    is_number = isinstance(number, int) and not isinstance(number, bool)
    return number if is_number and number > 0 else 0  # type: ignore[operator, return-value]
