"""Types of steps: what each takes and gives, and its settings as people fill them in."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.features.workflows.parts import step_types_of, system_tasks_of
from looseleaf.schema_fields import OTHER, list_fields
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.features.workflows.step import StepType
    from looseleaf.schema_fields import SchemaField


@value(kw_only=True)
class StepSettingInfo:
    """A setting of a type of step.

    Fields:
        name: The name, such as max_items; that of a field within an object has a dot.
        title: The name for people.
        type: text, choice, integer, number, yes or no, list, names and values, or JSON.
        help: What the setting means.
        is_required: Whether a step of the type needs it.
        is_secret: Whether its value is never shown.
        default: The value that counts without one, as text; "" if there is none.
        choices: The only values that it can have.
        offers: Values that this workspace knows, such as the names of its folders.
        limits: The least and the most, in words.
        names: What its text is the name of, such as page, tool or flow-file.
        condition: The values of other settings with which it counts; {} if it always counts.
    """

    name: str
    title: str
    type: str
    help: str
    is_required: bool
    is_secret: bool
    default: str
    choices: tuple[str, ...]
    offers: tuple[str, ...]
    limits: str
    names: str
    condition: Mapping[str, tuple[str, ...]]


@value(kw_only=True)
class StepTypeInfo:
    """A type of step, with its settings.

    Fields:
        name: The name of the type in a pipeline.
        label: The name for people.
        description: What a step of the type does.
        takes: The packets that it can use, of which one is needed; () if it needs none, * for any.
        gives: The packets that it gives.
        has_effect: Whether it changes something outside the job.
        is_open: Whether it takes settings besides those that it names.
        owner: The plugin that registered it.
        settings: Its settings, in the order in which people fill them in.
        settings_schema: The same as a JSON schema.
    """

    name: str
    label: str
    description: str
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    has_effect: bool
    is_open: bool
    owner: str
    settings: tuple[StepSettingInfo, ...]
    settings_schema: Mapping[str, Any]


@operation("looseleaf/list-step-types", permission="read", categories=("flows",), read_only=True)
def list_step_types(context: Context) -> list[StepTypeInfo]:
    """List the types of steps that pipelines are made of, those of plugins too."""
    return [_describe(context, step_type) for step_type in step_types_of(context.parts).all()]


@operation("looseleaf/show-step-type", permission="read", categories=("flows",), read_only=True)
def show_step_type(context: Context, step_type: str) -> StepTypeInfo:
    """Show a type of step: what it takes and gives, and each of its settings.

    Arguments:
        step_type: The name of the type, such as input or ai.
    """
    return _describe(context, step_types_of(context.parts).get(step_type))


def _describe(context: Context, step_type: StepType) -> StepTypeInfo:
    fields = list_fields(step_type.settings)
    return StepTypeInfo(
        name=step_type.name,
        label=step_type.label,
        description=step_type.description,
        takes=step_type.takes,
        gives=step_type.gives,
        has_effect=step_type.has_effect,
        is_open=any(field.name == OTHER for field in fields),
        owner=step_type.owner,
        settings=tuple(_describe_field(context, field) for field in fields if field.name != OTHER),
        settings_schema=step_type.settings,
    )


def _describe_field(context: Context, field: SchemaField) -> StepSettingInfo:
    return StepSettingInfo(
        name=field.name,
        title=field.title,
        type=field.type,
        help=field.help,
        is_required=field.is_required,
        is_secret=field.is_secret,
        default=field.default_text,
        choices=field.choices,
        offers=list_offers(context, field.names),
        limits=field.limits,
        names=field.names,
        condition=field.condition,
    )


def list_offers(context: Context, names: str) -> tuple[str, ...]:
    """List what this workspace has of a kind, such as the folders that steps may publish to."""
    settings = context.settings
    if names == "publish-folder":
        return tuple(sorted(name for name, _ in settings.publish_folders))
    if names == "wordpress-site":
        return tuple(sorted(site.name for site in settings.wordpress_sites))
    if names == "system-task":
        return tuple(sorted(task.type for task in system_tasks_of(context.parts).all()))
    return ()
