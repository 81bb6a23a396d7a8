"""Options of the commands of pipelines and flows: steps, JSON, texts of files, schedules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from looseleaf.errors import Invalid
from looseleaf.values import replace
from looseleaf.workflows.documents import ScheduleFields, parse_schedule
from looseleaf.workflows.flow import CRON, ONE_TIME
from looseleaf.workflows.pipeline import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Function = Callable[..., object]

INTERVALS = "hourly, daily, 6h …, five fields of cron, a UTC time, or manual"


def with_workflow_options(function: Function) -> Function:
    """Add the options that select the workflow of a prompt."""
    options = (
        click.option("--pipeline", metavar="PIPELINE", help="The prompt of a pipeline."),
        click.option("--flow", metavar="FLOW", help="The prompt of a flow."),
        click.option("--step", default="", metavar="ID", help="The step; else the first ai step."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def select_mode(mode: str | None, workflow: dict[str, Any]) -> str:
    """Give the mode of a prompt: the named one, else pipeline for a workflow, else chat."""
    is_workflow = workflow["pipeline"] is not None or workflow["flow"] is not None
    default = "pipeline" if is_workflow else "chat"
    return default if mode is None else mode


def read_text(text: str) -> str:
    """Give the text of an option; @FILE is the text of a file."""
    if not text.startswith("@"):
        return text
    try:
        with open(text[1:], encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{text[1:]!r} cannot be read: {error}.") from error


def read_object(option: str, text: str) -> dict[str, Any]:
    """Give the JSON object of an option; @FILE is the text of a file."""
    try:
        document = json.loads(read_text(text))
    except ValueError as error:
        raise click.UsageError(f"{option} is not JSON: {error}.") from None
    if not isinstance(document, dict):
        raise click.UsageError(f"{option} takes a JSON object, such as {{}}.")
    return document


def read_steps(steps: Iterable[str]) -> tuple[Step, ...]:
    """Read steps as `TYPE[:LABEL][={"setting": …}]`."""
    return tuple(_read_step(text) for text in steps)


def _read_step(text: str) -> Step:
    head, equals, settings = text.partition("=")
    step_type, _, label = head.partition(":")
    fields = read_object(f"--step {head}", settings) if equals else {}
    return Step(type=step_type.strip(), label=label.strip(), settings=fields)


def read_settings(pairs: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Read settings of steps in a flow, each as `STEP={"setting": …}`."""
    settings: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        step, equals, text = pair.partition("=")
        if not step or not equals:
            raise click.UsageError(f'{pair!r} is not STEP={{"setting": …}}.')
        settings[step] = read_object(f"--set {step}", text)
    return settings


def read_schedule(schedule: str, at: str, *, is_paused: bool) -> ScheduleFields:
    """Read a schedule: a short text such as `daily`, or the time of --at."""
    fields = ScheduleFields(ONE_TIME, at=at) if at else parse_schedule(schedule)
    return replace(fields, enabled=not is_paused)


def format_schedule(schedule: ScheduleFields) -> str:
    """Write a schedule in a few words."""
    descriptions = {CRON: f"cron {schedule.cron}", ONE_TIME: f"once at {schedule.at}"}
    words = descriptions.get(schedule.interval, schedule.interval)
    return words if schedule.enabled else f"{words} (paused)"


def format_steps(steps: Iterable[Step]) -> str:
    """Write the steps of a pipeline in one line."""
    return " → ".join(f"{step.title} ({step.id})" for step in steps) or "no steps yet"
