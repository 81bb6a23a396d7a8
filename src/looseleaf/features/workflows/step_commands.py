"""`looseleaf steps …`, and the options by which commands name steps and their settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.cli.arguments import read_object, read_text
from looseleaf.cli.command_line import Group
from looseleaf.cli.derived_commands import Derivation, ResultTable
from looseleaf.cli.output import say
from looseleaf.errors import Invalid
from looseleaf.features.workflows.access import TOOL_POLICY_SETTINGS
from looseleaf.features.workflows.artifacts import EGRESS_SETTINGS
from looseleaf.features.workflows.definitions import Step, number_steps
from looseleaf.schema_fields import COMMA, FieldProblem, find_field
from looseleaf.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.features.workflows.operations.steps import StepSettingInfo, StepTypeInfo

    Schemas = Callable[[str], Mapping[str, Any]]

_steps = Derivation("steps", "looseleaf.features.workflows.operations.steps")

set_option = click.Option(
    ["--set", "settings"],
    multiple=True,
    metavar="STEP.NAME=VALUE",
    help="A setting of a step, or tool_policy.NAME=VALUE; repeat. See: looseleaf steps show TYPE",
)
unset_option = click.Option(
    ["--unset", "unset"],
    multiple=True,
    metavar="STEP[.NAME]",
    help="Take a setting away; repeat.",
)


def read_steps(steps: Iterable[str]) -> tuple[Step, ...]:
    """Read steps as `TYPE[:LABEL][={"setting": …}]`."""
    return tuple(_read_step(text) for text in steps)


def _read_step(text: str) -> Step:
    head, equals, settings = text.partition("=")
    step_type, _, label = head.partition(":")
    fields = read_object(f"--step {head}", settings) if equals else {}
    return Step(type=step_type.strip(), label=label.strip(), settings=fields)


# `--set STEP.NAME=VALUE`: a step is named by its id, its type or its place; NAME and VALUE are read
# by the schema that the type of the step declares.


def find_schemas(context: Context) -> Schemas:
    """Return a function that finds the schema of a type's settings, each asked for once."""
    from looseleaf.features.workflows.operations.steps import show_step_type

    known: dict[str, Mapping[str, Any]] = {}

    def find_schema(step_type: str) -> Mapping[str, Any]:
        if step_type not in known:
            known[step_type] = show_step_type(context, step_type).settings_schema
        return known[step_type]

    return find_schema


def set_steps(
    schemas: Schemas, steps: Sequence[Step], pairs: Iterable[str], names: Iterable[str] = ()
) -> tuple[Step, ...]:
    """Return steps with the settings of `--set`, and without those of `--unset`."""
    row = list(number_steps(steps))
    places = {step.id: place for place, step in enumerate(row)}
    for name, text in map(_split_pair, pairs):
        step, key = _find_step(row, name)
        settings = _set(schemas(step.type), step.settings, name, text, key=key)
        row[places[step.id]] = replace(step, settings=settings)
    for name in names:
        step, key = _find_step(row, name)
        settings = _unset(schemas(step.type), step.settings, f"--unset {name}", key)
        row[places[step.id]] = replace(step, settings=settings)
    return tuple(row)


def set_flow(
    schemas: Schemas,
    steps: Sequence[Step],
    settings: Mapping[str, Any],
    pairs: Iterable[str],
    names: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the settings of a flow for its steps after `--set` and `--unset`."""
    own = [replace(step, settings=settings.get(step.id, {})) for step in steps]
    changed = set_steps(schemas, own, pairs, names)
    return {step.id: dict(step.settings) for step in changed if step.settings}


TOOL_POLICY, EGRESS = "tool_policy", "run_artifacts"
_OBJECTS = {TOOL_POLICY: TOOL_POLICY_SETTINGS, EGRESS: EGRESS_SETTINGS}


def set_object(
    place: str, content: Mapping[str, Any], pairs: Iterable[str], names: Iterable[str] = ()
) -> dict[str, Any]:
    """Return a tool policy or an egress policy after `--set` and `--unset`."""
    changed = dict(content)
    for name, text in map(_split_pair, pairs):
        changed = _set(_OBJECTS[place], changed, name, text, key=name.partition(".")[2])
    for name in names:
        changed = _unset(_OBJECTS[place], changed, f"--unset {name}", name.partition(".")[2])
    return changed


def pick_pairs(place: str, pairs: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split pairs into those of a policy, and those of steps."""
    pairs = list(pairs)
    own = [pair for pair in pairs if pair.partition("=")[0].partition(".")[0].strip() == place]
    return own, [pair for pair in pairs if pair not in own]


def _find_step(steps: Sequence[Step], name: str) -> tuple[Step, str]:
    """Find the step that an option names, and the rest of the name."""
    head, _, key = name.partition(".")
    head = head.strip()
    by_id = [step for step in steps if step.id == head]
    by_type = [step for step in steps if step.type == head]
    by_place = [step for place, step in enumerate(steps, 1) if str(place) == head]
    candidates = by_id or by_type or by_place
    if len(candidates) == 1:
        return candidates[0], key.strip()
    ids = ", ".join(step.id for step in steps) or "none"
    reason = "several steps have this type" if candidates else f"there is no step {head!r}"
    raise Invalid(f"{reason[:1].upper()}{reason[1:]}; the steps are: {ids}.")


def _set(
    schema: Mapping[str, Any],
    settings: Mapping[str, Any],
    name: str,
    text: str,
    *,
    key: str,
) -> dict[str, Any]:
    if not key:
        return read_object(f"--set {name}", text)
    try:
        field = find_field(schema, key)
        return field.put(settings, field.parse(read_text(text), separator=COMMA))
    except FieldProblem as problem:
        raise Invalid(f"--set {name}: {problem}.") from None


def _split_pair(pair: str) -> tuple[str, str]:
    name, equals, text = pair.partition("=")
    if not equals:
        raise click.UsageError(f"--set {name} has no value: write STEP.NAME=VALUE.")
    return name, text


def _unset(
    schema: Mapping[str, Any], settings: Mapping[str, Any], option: str, key: str
) -> dict[str, Any]:
    if not key:
        return {}
    try:
        return find_field(schema, key).drop(settings)
    except FieldProblem as problem:
        raise Invalid(f"{option}: {problem}.") from None


# The commands.

list_step_types = _steps.derive(
    "list",
    "list_step_types",
    "",
    key="step_types",
    show=ResultTable(
        "type=name takes gives settings description",
        cells={
            "takes": lambda found: " or ".join(found.takes).replace("*", "any packet") or "-",
            "gives": lambda found: ", ".join(found.gives) or "-",
            "settings": lambda found: len(found.settings),
        },
        shrink="DESCRIPTION",
        empty="There are no types of steps.",
    ),
)


@_steps.shown("show", "show_step_type", "input", parameters={"step_type": "TYPE"})
def show_step_type(found: StepTypeInfo) -> None:
    """Show a type of step: what it takes and gives, and each of its settings.

    A setting is given as --set STEP.NAME=VALUE: looseleaf pipelines create --help
    """
    say(f"{found.name}: {found.description}")
    takes = " or ".join(found.takes).replace("*", "any packet") or "nothing"
    say(f"Takes {takes}; gives {', '.join(found.gives) or 'nothing'}.")
    if not found.settings and not found.is_open:
        say("It has no settings.")
    for setting in found.settings:
        say()
        say(f"{setting.name}={_format_kind(setting)}")
        for line in _describe_setting(setting):
            say(f"  {line}")
    if found.is_open:
        say()
        say("It takes other settings, too: --set STEP.NAME=JSON.")


def _format_kind(setting: StepSettingInfo) -> str:
    if setting.choices and setting.type == "choice":
        return "|".join(setting.choices)
    words = {"list": "TEXT,TEXT…", "yes or no": "yes|no", "integer": "N", "number": "N"}
    return words.get(setting.type, "JSON" if setting.type != "text" else "TEXT")


def _describe_setting(setting: StepSettingInfo) -> list[str]:
    lines = [f"{setting.title}. {setting.help}".rstrip()]
    notes = []
    if setting.is_required:
        notes.append("needed")
    if setting.is_secret:
        notes.append("secret")
    if setting.default:
        notes.append(f"default: {setting.default}")
    if setting.limits:
        notes.append(setting.limits)
    if setting.choices and setting.type == "list":
        notes.append(f"of: {', '.join(setting.choices)}")
    if setting.offers:
        notes.append(f"here: {', '.join(setting.offers)}")
    for name, texts in setting.condition.items():
        notes.append(f"with {name}={' or '.join(texts)}")
    return [*lines, *([f"({'; '.join(notes)})"] if notes else [])]


steps_group = Group(
    "steps",
    "Types of steps that pipelines are made of, and their settings.",
    *(list_step_types, show_step_type),
)
