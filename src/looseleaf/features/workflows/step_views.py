"""Steps and policies as typed forms: each field is made from the declaration of its setting."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from looseleaf.catalog.tool_access import list_tool_categories
from looseleaf.errors import Invalid
from looseleaf.features.workflows.operations.steps import list_offers
from looseleaf.features.workflows.parts import step_types_of
from looseleaf.schema_fields import (
    OTHER,
    OTHERS,
    FieldProblem,
    list_fields,
    parse_json,
    read_fields,
    show_field,
    split_others,
)
from looseleaf.values import FrozenDict, replace, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from looseleaf.features.workflows.definitions import Step
    from looseleaf.plugins.admin_pages import Visit
    from looseleaf.schema_fields import SchemaField

MOST_STEPS = 50
MOST_OFFERS = 200  # names in the list of one field
JSON = "json"  # the field of a step's settings as JSON, for experts


@value(kw_only=True)
class FormField:
    """One field of a form.

    Fields:
        key: The name of the field in the form.
        field: The declaration of the setting.
        text: The text in the field.
        problem: Why the text cannot be used; "" if it can.
        fallback: The value that counts without a text, in words.
        offers: Names that may be picked.
        has_secret: Whether a secret is set, which is not shown.
    """

    key: str
    field: SchemaField
    text: str
    problem: str = ""
    fallback: str = ""
    offers: tuple[str, ...] = ()
    has_secret: bool = False

    @property
    def condition(self) -> str:
        """The values of other fields with which it counts, as the script of the page reads it."""
        return json.dumps(self.field.condition) if self.field.condition else ""

    @property
    def checked(self) -> tuple[str, ...]:
        """The choices of a list that are chosen."""
        return tuple(line.strip() for line in self.text.splitlines())


@value(kw_only=True)
class StepDraft:
    """A step as it stands in a form, saved or not."""

    id: str
    type: str
    label: str = ""
    settings: Mapping[str, Any] = FrozenDict()
    texts: Mapping[str, str] = FrozenDict()
    problems: Mapping[str, str] = FrozenDict()


@value(kw_only=True)
class StepForm:
    """A step with its fields, as a template shows it."""

    prefix: str
    id: str
    type: str
    kind: str  # the label of the type
    description: str
    label: str
    fields: tuple[FormField, ...]
    json: str
    problem: str  # of the settings as JSON

    @property
    def is_wrong(self) -> bool:
        """Whether a field of it cannot be used."""
        return any(field.problem for field in self.fields)


def draft_steps(steps: Sequence[Step]) -> list[StepDraft]:
    """Return steps as they are stored."""
    return [
        StepDraft(id=step.id, type=step.type, label=step.label, settings=step.settings)
        for step in steps
    ]


def read_drafts(visit: Visit, steps: Sequence[Step]) -> list[StepDraft]:
    """Read the row of steps of a form, in its order; what a form does not show stays."""
    form, types = visit.form, step_types_of(visit.context.parts)
    stored = {step.id: step for step in steps}
    drafts = []
    for number in range(MOST_STEPS + 1):
        prefix = f"s{number}."
        if f"{prefix}type" not in form:
            break
        step_id, step_type = form.get(f"{prefix}id", ""), form[f"{prefix}type"]
        before = stored.get(step_id)
        base = before.settings if before is not None and before.type == step_type else {}
        schema = types.get(step_type).settings
        settings, texts, problems = read_settings(form, prefix, schema, base)
        drafts.append(
            StepDraft(
                id=step_id,
                type=step_type,
                label=form.get(f"{prefix}label", "").strip(),
                settings=settings,
                texts=texts,
                problems=problems,
            )
        )
    return drafts


def read_settings(
    form: Mapping[str, str], prefix: str, schema: Mapping[str, Any], base: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Read the settings of a form: their values, the texts that were typed, and the problems."""
    text = form.get(f"{prefix}{JSON}")
    if text is not None:
        settings, problem = _read_json(text)
        return settings, {JSON: text}, {JSON: problem} if problem else {}
    start = f"{prefix}set."
    texts = {name[len(start) :]: text for name, text in form.items() if name.startswith(start)}
    for field in list_fields(schema):
        if f"{field.name}:choices" in texts:  # boxes to check, of which only the checked are sent
            chosen = [choice for choice in field.choices if f"{field.name}:{choice}" in texts]
            texts[field.name] = "\n".join(chosen)
    settings, problems = read_fields(schema, base, texts)
    return settings, texts, problems


def _read_json(text: str) -> tuple[dict[str, Any], str]:
    if not text.strip():
        return {}, ""
    try:
        settings = parse_json(text)
    except FieldProblem as problem:
        return {}, str(problem)
    if not isinstance(settings, dict):
        return {}, 'it must be a JSON object, such as {"text": "…"}'
    return settings, ""


def refuse_problems(drafts: Sequence[StepDraft]) -> None:
    """Raise if a field of a step cannot be used; the form shows the reason beside the field."""
    problems = [
        f"step {place}, {name}: {problem}"
        for place, draft in enumerate(drafts, 1)
        for name, problem in draft.problems.items()
    ]
    if problems:
        raise Invalid(f"Nothing is saved: {problems[0]}.")


def move(drafts: list[StepDraft], act: str, place: int) -> list[StepDraft]:
    """Return the row with a step one place earlier or later, or without it."""
    row = list(drafts)
    if not 0 <= place < len(row):
        return row
    draft = row.pop(place)
    if act == "up":
        row.insert(max(0, place - 1), draft)
    elif act == "down":
        row.insert(place + 1, draft)
    return row


def build_step_forms(visit: Visit, drafts: Sequence[StepDraft], agent: str) -> list[StepForm]:
    """Build the form of each step."""
    types, offers = step_types_of(visit.context.parts), Offers(visit, agent)
    forms = []
    for number, draft in enumerate(drafts):
        step_type = types.get(draft.type)
        prefix = f"s{number}."
        forms.append(
            StepForm(
                prefix=prefix,
                id=draft.id,
                type=draft.type,
                kind=step_type.label,
                description=step_type.description,
                label=draft.label,
                fields=build_fields(
                    step_type.settings,
                    draft.settings,
                    prefix=prefix,
                    offers=offers,
                    texts=draft.texts,
                    problems=draft.problems,
                ),
                json=draft.texts.get(JSON) or format_json(draft.settings),
                problem=draft.problems.get(JSON, ""),
            )
        )
    return forms


def build_fields(
    schema: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    prefix: str,
    offers: Offers,
    texts: Mapping[str, str] = FrozenDict(),
    problems: Mapping[str, str] = FrozenDict(),
    inherited: Mapping[str, Any] | None = None,
) -> tuple[FormField, ...]:
    """Build the fields of settings; in a flow, the settings of the step are `inherited`."""
    known, others = split_others(schema, settings)
    declared = [field for field in list_fields(schema) if field.name != OTHER]
    is_open = len(declared) < len(list_fields(schema))
    fields = [
        FormField(
            key=f"{prefix}set.{field.name}",
            field=field if inherited is None else replace(field, is_required=False),
            text=texts.get(field.name, show_field(field, known)),
            problem=problems.get(field.name, ""),
            fallback=_describe_fallback(field, inherited),
            offers=offers.list(field.names),
            has_secret=field.is_secret and field.is_set(known),
        )
        for field in declared
    ]
    if is_open or others:
        text = OTHERS.format(others) if others else ""
        fields.append(
            FormField(
                key=f"{prefix}set.{OTHER}",
                field=OTHERS,
                text=texts.get(OTHER, text),
                problem=problems.get(OTHER, ""),
            )
        )
    return tuple(fields)


def _describe_fallback(field: SchemaField, inherited: Mapping[str, Any] | None) -> str:
    """Name the value that counts without a text: that of the step, else the default."""
    if inherited is not None and field.is_set(inherited):
        return "as in the pipeline" if field.is_secret else field.format(field.read(inherited))
    return field.default_text


class Offers:
    """The names that a form offers, each kind listed once."""

    def __init__(self, visit: Visit, agent: str) -> None:
        self._visit, self._agent = visit, agent
        self._known: dict[str, tuple[str, ...]] = {}

    def list(self, names: str) -> tuple[str, ...]:
        """List the names of a kind, such as page or tool."""
        if names not in self._known:
            self._known[names] = self._find(names)[:MOST_OFFERS]
        return self._known[names]

    def _find(self, names: str) -> tuple[str, ...]:
        context = self._visit.context
        if names == "page":
            pages = self._visit.run("datamachine/list-agent-files", agent=self._agent)
            return tuple(page.file for page in pages if page.layer == "agent")
        if names == "tool-category":
            return tuple(list_tool_categories(context.parts.operations()))
        return list_offers(context, names)


def format_json(settings: Mapping[str, Any]) -> str:
    """Write settings as experts edit them."""
    return json.dumps(settings, ensure_ascii=False, indent=2) if settings else ""


# A flow overrides settings of steps; a policy is one form of its own.


def drop_required(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema whose fields may all be missing, as in the settings of a flow."""
    return {**schema, "required": []}


def read_flow_drafts(
    visit: Visit, steps: Sequence[Step], step_settings: Mapping[str, Any]
) -> list[StepDraft]:
    """Read the settings of a flow for the steps of its pipeline, wherever they stand now."""
    types, form = step_types_of(visit.context.parts), visit.form
    prefixes = {form.get(f"s{number}.id", ""): f"s{number}." for number in range(MOST_STEPS + 1)}
    drafts = []
    for step in steps:
        schema = drop_required(types.get(step.type).settings)
        base = step_settings.get(step.id, {})
        read = (dict(base), dict[str, str](), dict[str, str]())
        if step.id in prefixes:
            read = read_settings(form, prefixes[step.id], schema, base)
        settings, texts, problems = read
        drafts.append(
            StepDraft(
                id=step.id,
                type=step.type,
                label=step.label,
                settings=settings,
                texts=texts,
                problems=problems,
            )
        )
    return drafts


def draft_flow(steps: Sequence[Step], step_settings: Mapping[str, Any]) -> list[StepDraft]:
    """Return the settings of a flow for each step, as they are stored."""
    return [
        StepDraft(
            id=step.id, type=step.type, label=step.label, settings=step_settings.get(step.id, {})
        )
        for step in steps
    ]


def build_flow_forms(
    visit: Visit, steps: Sequence[Step], drafts: Sequence[StepDraft], agent: str
) -> list[StepForm]:
    """Build the form of each step in a flow; an empty field means the setting of the step."""
    types, offers = step_types_of(visit.context.parts), Offers(visit, agent)
    forms = build_step_forms(visit, drafts, agent)
    return [
        replace(
            form,
            label=step.title,
            fields=build_fields(
                types.get(step.type).settings,
                draft.settings,
                prefix=form.prefix,
                offers=offers,
                texts=draft.texts,
                problems=draft.problems,
                inherited=step.settings,
            ),
        )
        for form, step, draft in zip(forms, steps, drafts, strict=True)
    ]


def read_policy(
    visit: Visit, prefix: str, schema: Mapping[str, Any], current: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a policy after its form, or raise with the field that cannot be used."""
    policy, _, problems = read_settings(visit.form, prefix, schema, current)
    for name, problem in problems.items():
        raise Invalid(f"Nothing is saved: {name}: {problem}.")
    return policy


def build_policy_fields(
    visit: Visit, prefix: str, schema: Mapping[str, Any], current: Mapping[str, Any], agent: str
) -> tuple[FormField, ...]:
    """Build the fields of a policy, after a refused form those that were typed."""
    texts: Mapping[str, str] = {}
    problems: Mapping[str, str] = {}
    if any(name.startswith(prefix) for name in visit.form):
        current, texts, problems = read_settings(visit.form, prefix, schema, current)
    return build_fields(
        schema,
        current,
        prefix=prefix,
        offers=Offers(visit, agent),
        texts=texts,
        problems=problems,
    )
