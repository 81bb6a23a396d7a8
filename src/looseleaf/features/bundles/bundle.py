"""A bundle as a value: the agent's definition, pages and workflows, read from files and checked."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode

from looseleaf.errors import Invalid, InvalidName
from looseleaf.errors.features import InvalidBundle, InvalidWorkflow
from looseleaf.features.bundles.manifest import (
    count_parts,
    format_json,
    format_manifest,
    parse_json,
    parse_manifest,
)
from looseleaf.features.bundles.zip_archive import (
    MANIFEST,
    ArchiveNames,
    ZipLimits,
    check_archive_path,
)
from looseleaf.features.workflows.definitions import check_flow, check_pipeline, check_slug
from looseleaf.features.workflows.documents import describe_schedule, read_flow, read_pipeline
from looseleaf.memory.scope import check_filename, check_folder
from looseleaf.memory.store import hash_content
from looseleaf.values import FrozenDict, as_dict, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from looseleaf.features.bundles.manifest import Manifest
    from looseleaf.features.workflows.definitions import Flow, Pipeline
    from looseleaf.features.workflows.step import StepTypes
    from looseleaf.memory.registry import FileRegistry


# Prompts of system tasks as files of a bundle: prompts/system-tasks/<task>/<key>.json.


PROMPTS = "prompts/"
TASK_PROMPTS = f"{PROMPTS}system-tasks/"
SCHEMA_VERSION = 1
_PROMPT_FIELDS = {"schema_version", "task_type", "prompt_key", "prompt"}


def format_prompt(name: str, text: str) -> bytes:
    """Write a prompt, by the name `task/key`, as its file."""
    task_type, _, key = name.partition("/")
    document = {"schema_version": SCHEMA_VERSION, "task_type": task_type, "prompt_key": key}
    return format_json({**document, "prompt": text})


def parse_prompt(path: str, content: bytes) -> str | None:
    """Read the text of a prompt, or None if another program wrote the file.

    A file of another program has other fields or another schema_version, and is kept as it is.
    """
    if path.count("/") != 3 or not path.endswith(".json"):
        return None
    document = parse_json(path, content)
    if set(document) != _PROMPT_FIELDS or document["schema_version"] != SCHEMA_VERSION:
        return None
    if [document["task_type"], document["prompt_key"]] != name_prompt(path).split("/"):
        raise InvalidBundle(path, "its task_type and prompt_key are unlike its path")
    if not isinstance(document["prompt"], str):
        raise InvalidBundle(path, "prompt is no text")
    return document["prompt"]


def name_prompt(path: str) -> str:
    """Return the name of a prompt, `task/key`, by its path in a bundle."""
    return path.removeprefix(TASK_PROMPTS).removesuffix(".json")


def place_prompt(name: str) -> str:
    """Return the path of a prompt in a bundle."""
    return f"{TASK_PROMPTS}{name}.json"


def name_in_manifest(name: str) -> str:
    """Return a prompt as the manifest lists it."""
    return place_prompt(name).removeprefix(PROMPTS).removesuffix(".json")


# Uploaded files of pipelines and flows as files of a bundle.
# Texts lie as they are below memory/. Files that are no text, such as images, lie below
# uploads/ as JSON with their bytes in base64, since the files of a bundle are texts.


MEMORY, UPLOADS = "memory/", "uploads/"
PIPELINE_FILES, FLOW_FILES = f"{MEMORY}pipelines/", f"{MEMORY}flows/"
_TEXTS = (".md", ".txt", ".json", ".yaml", ".yml", ".csv")
_UPLOAD_FIELDS = {"schema_version", "name", "bytes", "sha256", "encoding", "data"}
_ENCODING = "base64"
_MOST_UPLOAD_PARTS = 1_000  # of a file that may be an upload; ours have 18


def place_upload(path: str, content: bytes) -> str:
    """Return the path of an upload in the bundle; `path` is the one it would have as a text."""
    return path if is_plain(path, content) else f"{UPLOADS}{path.removeprefix(MEMORY)}.json"


def is_plain(path: str, content: bytes) -> bool:
    """Return whether an upload is a text, by its name and its bytes."""
    if not path.lower().endswith(_TEXTS) or b"\0" in content:
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def format_upload(path: str, content: bytes) -> bytes:
    """Write an upload as its file in the bundle."""
    if is_plain(path, content):
        return content
    document = {
        "schema_version": SCHEMA_VERSION,
        "name": path.rpartition("/")[2],
        "bytes": len(content),
        "sha256": hash_content(content),
        "encoding": _ENCODING,
        "data": b64encode(content).decode(),
    }
    return format_json(document)


def parse_upload(path: str, content: bytes) -> tuple[str, bytes] | None:
    """Read an upload that is no text: its path below memory/, and its bytes, checked by their hash.

    None if another program wrote the file: it lies elsewhere, or has other fields.
    """
    if path.count("/") != 3 or not path.endswith(".json"):
        return None
    upload_path = f"{MEMORY}{path.removeprefix(UPLOADS).removesuffix('.json')}"
    if not upload_path.startswith((PIPELINE_FILES, FLOW_FILES)):
        return None
    document = parse_json(path, content, most_parts=_MOST_UPLOAD_PARTS)
    if set(document) != _UPLOAD_FIELDS or document["schema_version"] != SCHEMA_VERSION:
        return None
    if document["encoding"] != _ENCODING or document["name"] != upload_path.rpartition("/")[2]:
        raise InvalidBundle(path, f"its encoding is not {_ENCODING}, or its name is another")
    try:
        data = b64decode(document["data"], validate=True)
    except (ValueError, TypeError):
        raise InvalidBundle(path, "its data is not base64") from None
    if [len(data), hash_content(data)] != [document["bytes"], document["sha256"]]:
        raise InvalidBundle(path, "its bytes are not those of its sha256")
    return upload_path, data


# Pipelines and flows as files of a bundle: without ids of a workspace, each with its own slug.


_LEGACY = ("handler", "handler_slug", "handler_config")
_FLOW_STEP_KEYS = {"step_position", "step_id", "step_type", "handler_configs"}
_STEP_SETTINGS = ("step_config", "handler_configs")
_PIPELINE_STEP_KEYS = {"step_position", "step_id", "step_type", "label", "step_config"}


def format_pipeline(pipeline: Pipeline, slug: str) -> dict[str, Any]:
    """Return the file of a pipeline; `memory_files` is a key of its own, never a step."""
    return {
        "schema_version": SCHEMA_VERSION,
        "slug": slug,
        "name": pipeline.name,
        "system_prompt": pipeline.system_prompt,
        "memory_files": list(pipeline.memory_files),
        "tool_policy": dict(pipeline.tool_policy),
        "steps": [
            {
                "step_position": position,
                "step_id": step.id,
                "step_type": step.type,
                "label": step.label,
                "step_config": dict(step.settings),
            }
            for position, step in enumerate(pipeline.steps)
        ],
    }


def format_flow(flow: Flow, slug: str, pipeline: Pipeline, pipeline_slug: str) -> dict[str, Any]:
    """Return the file of a flow; the settings of a step stand at the position of the step."""
    return {
        "schema_version": SCHEMA_VERSION,
        "slug": slug,
        "name": flow.name,
        "pipeline_slug": pipeline_slug,
        "memory_files": list(flow.memory_files),
        "schedule": as_dict(describe_schedule(flow.schedule)),
        "max_items": {},
        "prompt_queue": [entry.prompt for entry in flow.prompt_queue],
        "queue_mode": flow.queue_mode,
        "steps": [
            {
                "step_position": position,
                "step_id": step.id,
                "handler_configs": dict(flow.step_settings[step.id]),
            }
            for position, step in enumerate(pipeline.steps)
            if step.id in flow.step_settings
        ],
        "run_artifacts": dict(flow.run_artifacts),
    }


def parse_pipeline(path: str, document: Mapping[str, Any]) -> Pipeline:
    """Read the file of a pipeline, its steps by position, or raise `InvalidBundle`."""
    fields = _check_fields(path, document)
    steps = _read_steps(path, fields.pop("steps", []), _PIPELINE_STEP_KEYS)
    fields["steps"] = [
        {
            "type": step.get("step_type", ""),
            "id": step.get("step_id", ""),
            "label": step.get("label", ""),
            "settings": step.get("step_config", {}),
        }
        for step in steps
    ]
    try:
        pipeline = read_pipeline(fields)
        check_slug(pipeline.slug, noun="pipeline")
    except InvalidWorkflow as error:
        raise InvalidBundle(path, error.why) from None
    return pipeline


def parse_flow(path: str, document: Mapping[str, Any], *, now: float = 0.0) -> Flow:
    """Read the file of a flow, or raise `InvalidBundle`; its steps name those of the pipeline."""
    fields = _check_fields(path, document)
    fields.pop("schema_version")
    max_items = fields.pop("max_items", {})
    pipeline_slug = fields.pop("pipeline_slug", "")
    if not isinstance(pipeline_slug, str) or not pipeline_slug:
        raise InvalidBundle(path, "pipeline_slug is missing")
    if max_items:
        raise InvalidBundle(path, "max_items is not empty, and this Looseleaf has no such limits")
    if isinstance(fields.get("schedule"), str):
        fields["schedule"] = {"interval": fields["schedule"]}  # as Data Machine writes it
    steps = _read_steps(path, fields.pop("steps", []), _FLOW_STEP_KEYS)
    fields["step_settings"] = {
        str(step.get("step_id", "")): step.get("handler_configs", {}) for step in steps
    }
    try:
        flow = read_flow(fields, now=now)
        check_slug(flow.slug, noun="flow")
    except InvalidWorkflow as error:
        raise InvalidBundle(path, error.why) from None
    except Invalid as error:
        raise InvalidBundle(path, str(error).rstrip(".")) from None
    return flow


def _check_fields(path: str, document: Mapping[str, Any]) -> dict[str, Any]:
    version = document.get("schema_version")
    if version != SCHEMA_VERSION or type(version) is not int:
        raise InvalidBundle(path, f"schema_version is {version!r}, not {SCHEMA_VERSION}")
    slug = path.rpartition("/")[2].removesuffix(".json")
    if document.get("slug") != slug:
        raise InvalidBundle(path, f"its slug is {document.get('slug')!r}, unlike its name")
    return dict(document)


def _check_step(path: str, step: Mapping[str, Any], keys: set[str]) -> None:
    for key in step:
        if key in _LEGACY:
            raise InvalidBundle(path, f"a step has the old key {key!r}; use handler_configs")
        if key not in keys:
            raise InvalidBundle(path, f"a step has {key!r}, which this Looseleaf cannot use")
    if type(step.get("step_position")) is not int:
        raise InvalidBundle(path, "a step has no step_position")
    if not isinstance(step.get("step_id", ""), str):
        raise InvalidBundle(path, "step_id is no text")
    for key in _STEP_SETTINGS:
        if not isinstance(step.get(key, {}), dict):
            raise InvalidBundle(path, f"{key} of a step is no object")


def _read_steps(path: str, steps: object, keys: set[str]) -> list[dict[str, Any]]:
    """Return the steps by position, each an object with known keys."""
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise InvalidBundle(path, "steps is no list of objects")
    for step in steps:
        _check_step(path, step, keys)
    positions = [step["step_position"] for step in steps]
    if len(set(positions)) < len(positions):
        raise InvalidBundle(path, "two steps have the same step_position")
    return sorted(steps, key=lambda step: int(step["step_position"]))


AGENT_PAGES = "memory/agent/"
USER_PAGE = "memory/USER.md"
PIPELINES, FLOWS = "pipelines/", "flows/"
_MOST_PARTS = 1_000_000  # of all pipelines and flows as JSON: some 100 MB when they are read
_EXTRA_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_RESERVED = {"memory", "pipelines", "flows"}
_COMPUTED = _RESERVED | {"prompts"}  # lists of the manifest that are built from the files


@value(kw_only=True)
class Bundle:
    """An agent as files.

    Fields:
        manifest: The name of the bundle, and the agent's definition.
        pages: The agent's pages by name.
        user_page: The USER.md of its owner, or None if it is not in the bundle.
        pipelines: The files of pipelines by slug, as JSON.
        flows: The files of flows by slug, as JSON.
        uploads: Uploaded files of pipelines and flows, by the path that a text has in the bundle.
        extras: Files that Looseleaf keeps and does not use, by path.
        prompts: Texts of replaced prompts of system tasks, by task/key.
    """

    manifest: Manifest
    pages: Mapping[str, bytes] = FrozenDict()
    user_page: bytes | None = None
    pipelines: Mapping[str, Mapping[str, Any]] = FrozenDict()
    flows: Mapping[str, Mapping[str, Any]] = FrozenDict()
    uploads: Mapping[str, bytes] = FrozenDict()
    extras: Mapping[str, bytes] = FrozenDict()
    prompts: Mapping[str, str] = FrozenDict()


def format_bundle(bundle: Bundle) -> dict[str, bytes]:
    """Write a bundle as files by path; the manifest lists the files."""
    files = {f"{AGENT_PAGES}{name}": content for name, content in bundle.pages.items()}
    if bundle.user_page is not None:
        files[USER_PAGE] = bundle.user_page
    for path, content in bundle.uploads.items():
        files[place_upload(path, content)] = format_upload(path, content)
    memory = [path.removeprefix(MEMORY) for path in files if path.startswith(MEMORY)]
    files |= {
        f"{PIPELINES}{slug}.json": format_json(document)
        for slug, document in bundle.pipelines.items()
    }
    files |= {
        f"{FLOWS}{slug}.json": format_json(document) for slug, document in bundle.flows.items()
    }
    files |= {
        place_prompt(name): format_prompt(name, text) for name, text in bundle.prompts.items()
    }
    files |= bundle.extras
    contents = {
        **{
            kind: names for kind, names in bundle.manifest.included.items() if kind not in _COMPUTED
        },
        "memory": sorted(memory),
        "pipelines": sorted(bundle.pipelines),
        "flows": sorted(bundle.flows),
        "prompts": _list_prompts(bundle),
    }
    manifest = replace(bundle.manifest, included=contents)
    return {MANIFEST: format_json(format_manifest(manifest)), **files}


def list_readable_files(bundle: Bundle) -> dict[str, bytes]:
    """List the files of a bundle for a search: files in base64 have their decoded bytes."""
    files = format_bundle(bundle)
    return files | {
        place_upload(path, content): content for path, content in bundle.uploads.items()
    }


def _list_prompts(bundle: Bundle) -> list[str]:
    """List the prompts for the manifest: ours, and those of other programs that it names."""
    names = {name_in_manifest(name) for name in bundle.prompts}
    names |= {
        name
        for name in bundle.manifest.included.get("prompts", ())
        if {f"{PROMPTS}{name}", f"{PROMPTS}{name}.json"} & set(bundle.extras)
    }
    return sorted(names)


def parse_bundle(files: Mapping[str, bytes]) -> Bundle:
    """Read a bundle from its files, or raise `InvalidBundle` or `InvalidArchive`."""
    names = ArchiveNames()
    for path in files:
        names.add(check_archive_path(path))
    if MANIFEST not in files:
        raise InvalidBundle(MANIFEST, "it is missing")
    manifest = parse_manifest(parse_json(MANIFEST, files[MANIFEST]))
    check_amount(files)
    parts: dict[str, dict[str, Any]] = {name: {} for name in ("pages", "pipelines", "flows")}
    parts |= {"uploads": {}, "extras": {}, "prompts": {}}
    user_page = None
    for path, content in sorted(files.items()):
        if path == USER_PAGE:
            user_page = _check_text(path, content)
        elif path != MANIFEST:
            kind, name, payload = _sort_file(path, content)
            if name in parts[kind]:
                raise InvalidBundle(path, f"the bundle has {name} twice")
            parts[kind][name] = payload
    bundle = Bundle(manifest=manifest, **{**parts, "user_page": user_page})  # type: ignore[arg-type]
    _check_included(bundle, files)
    _check_references(bundle)
    return bundle


def check_amount(files: Mapping[str, bytes]) -> None:
    """Refuse definitions that would fill the memory of this machine, before they are read."""
    rest = _MOST_PARTS
    for path, content in files.items():
        if path.startswith((PIPELINES, FLOWS)):
            rest -= count_parts(content, rest)
            if rest < 0:
                raise InvalidBundle(path, f"all workflows have more than {_MOST_PARTS:,} parts")


def _sort_file(path: str, content: bytes) -> tuple[str, str, object]:
    """Return which part of the bundle a file belongs to, under which name, with its content."""
    folder, _, name = path.rpartition("/")
    if path.startswith(AGENT_PAGES):
        try:
            page = check_filename(path.removeprefix(AGENT_PAGES))
        except InvalidName as error:
            raise InvalidBundle(path, error.why) from None
        return "pages", page, _check_text(path, content)
    if path.startswith((PIPELINE_FILES, FLOW_FILES)):
        if path.count("/") != 3:
            raise InvalidBundle(path, "an uploaded file lies directly in the folder of its slug")
        return "uploads", path, content
    if folder + "/" in (PIPELINES, FLOWS) and name.endswith(".json"):
        document = parse_json(path, content)
        (parse_pipeline if folder + "/" == PIPELINES else parse_flow)(path, document)
        return folder, name.removesuffix(".json"), document
    top = path.partition("/")[0]
    if top in _RESERVED or "/" not in path or not _EXTRA_KEY.fullmatch(top):
        raise InvalidBundle(path, "no part of a bundle has such a name")
    upload = parse_upload(path, content) if path.startswith(UPLOADS) else None
    if upload is not None:
        return "uploads", *upload
    text = parse_prompt(path, content) if path.startswith(TASK_PROMPTS) else None
    if text is not None:
        return "prompts", name_prompt(path), text
    return "extras", path, _check_text(path, content)


def find_text_fault(content: bytes) -> str:
    """Return why bytes cannot be a text of a bundle, or "" if they can."""
    if len(content) > ZipLimits().file_bytes:
        return f"it has more than {ZipLimits().file_bytes:,} bytes"
    try:
        content.decode()
    except UnicodeDecodeError:
        return "it is not UTF-8 text"
    return "it is no text: it holds a NUL" if b"\0" in content else ""


def _check_text(path: str, content: bytes) -> bytes:
    if fault := find_text_fault(content):
        raise InvalidBundle(path, fault)
    return content


def _check_included(bundle: Bundle, paths: Iterable[str]) -> None:
    """Compare the lists of the manifest with the files that are there."""
    memory = [path.removeprefix(MEMORY) for path in paths if path.startswith(MEMORY)]
    present = {"memory": memory, "pipelines": bundle.pipelines, "flows": bundle.flows}
    for kind, names in present.items():
        expected, actual = set(bundle.manifest.included[kind]), set(names)
        if missing := sorted(expected - actual):
            raise InvalidBundle(MANIFEST, f"it includes {kind} {missing[0]}, which is not there")
        if foreign := sorted(actual - expected):
            raise InvalidBundle(
                MANIFEST, f"{kind} {foreign[0]} is there, and it does not include it"
            )


def _check_references(bundle: Bundle) -> None:
    for slug, document in bundle.flows.items():
        if document["pipeline_slug"] not in bundle.pipelines:
            reason = f"its pipeline {document['pipeline_slug']!r} is not in the bundle"
            raise InvalidBundle(f"{FLOWS}{slug}.json", reason)
    for path in bundle.uploads:
        kind, slug, name = path.removeprefix(MEMORY).split("/")
        if slug not in (bundle.pipelines if kind == "pipelines" else bundle.flows):
            raise InvalidBundle(path, f"the bundle has no {kind.removesuffix('s')} {slug!r}")
        try:
            check_folder(name)
        except InvalidName as error:
            raise InvalidBundle(path, error.why) from None


# Workflows of a bundle as definitions that a workspace can store, checked by its rules.


@value
class Owner:
    """The owner of a new definition, and the time; ids are 0 if it is only read."""

    agent_id: int = 0
    user_id: int = 0
    now: float = 0.0


@value
class WorkflowRules:
    """The registries that a definition is checked by, and its owner."""

    registry: FileRegistry
    types: StepTypes
    owner: Owner = Owner()


def build_pipeline(slug: str, document: Mapping[str, Any], rules: WorkflowRules) -> Pipeline:
    """Build a pipeline from its file, or raise `InvalidWorkflow`."""
    return check_pipeline(_read_pipeline(slug, document, rules.owner), rules.registry, rules.types)


def _read_pipeline(slug: str, document: Mapping[str, Any], owner: Owner) -> Pipeline:
    pipeline = parse_pipeline(f"{PIPELINES}{slug}.json", document)
    return replace(pipeline, agent_id=owner.agent_id, user_id=owner.user_id)


def build_flow(
    slug: str, document: Mapping[str, Any], pipeline: Pipeline, rules: WorkflowRules
) -> Flow:
    """Build a flow from its file, its schedule as the file says, or raise `InvalidWorkflow`."""
    flow = _read_flow(slug, document, pipeline, rules.owner)
    return check_flow(flow, pipeline, rules.registry, rules.types)


def _read_flow(slug: str, document: Mapping[str, Any], pipeline: Pipeline, owner: Owner) -> Flow:
    flow = parse_flow(f"{FLOWS}{slug}.json", document, now=owner.now)
    return replace(flow, pipeline_id=pipeline.id, agent_id=owner.agent_id, user_id=owner.user_id)


def normalize_workflows(
    bundle: Bundle,
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return the files of pipelines and flows as this program writes them.

    A field that another program left out gets its default, so that the same definition gives the
    same file, whichever program wrote it.
    """
    pipelines = {
        slug: _read_pipeline(slug, document, Owner()) for slug, document in bundle.pipelines.items()
    }
    flows = {}
    for slug, document in bundle.flows.items():
        pipeline = pipelines[document["pipeline_slug"]]
        flow = _read_flow(slug, document, pipeline, Owner())
        flows[slug] = format_flow(flow, slug, pipeline, pipeline.slug)
    return {slug: format_pipeline(pipeline, slug) for slug, pipeline in pipelines.items()}, flows


def build_definitions(
    bundle: Bundle, slug: str, rules: WorkflowRules
) -> tuple[Pipeline, list[Flow]]:
    """Build a pipeline of a bundle with its flows."""
    pipeline = build_pipeline(slug, bundle.pipelines[slug], rules)
    flows = [
        build_flow(flow_slug, document, pipeline, rules)
        for flow_slug, document in sorted(bundle.flows.items())
        if document["pipeline_slug"] == slug
    ]
    return pipeline, flows
