"""Artifacts: the parts of a bundle, with their order, profiles, rights and needs."""

from __future__ import annotations

from looseleaf.catalog.tool_access import MODEL_TOOLS
from looseleaf.errors import Invalid, InvalidArgument
from looseleaf.features.bundles.bundle import (
    AGENT_PAGES,
    FLOW_FILES,
    FLOWS,
    PIPELINE_FILES,
    PIPELINES,
    USER_PAGE,
    normalize_workflows,
    place_prompt,
    place_upload,
)
from looseleaf.features.bundles.bundle import (
    MEMORY as MEMORY_FILES,
)
from looseleaf.features.bundles.manifest import hash_payload
from looseleaf.features.workflows.artifacts import is_secret_key, split_key
from looseleaf.features.workflows.definitions import MANUAL
from looseleaf.memory.policy import parse_memory_policy, parse_tool_policy
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any

    from looseleaf.features.bundles.bundle import Bundle
    from looseleaf.features.bundles.manifest import HandlerAuth


# Profiles of an export: the parts of an agent that are shared, backed up or forked.


# Keys of a configuration that belong to one installation, and are never exported.
LOCAL_KEYS = ("datamachine_bundle",)
IDENTITY_PAGE = "SOUL.md"
_DEEPEST = 32


@value
class Profile:
    """The content of an export.

    Fields:
        name: share, backup or fork.
        learned_memory: Whether all pages of the agent and USER.md are exported, or SOUL.md alone.
        handler_auth: Whether settings under the keys of secrets are exported (full) or replaced by
            a reference (refs), or the settings of flows are left out altogether (omit).
    """

    name: str
    learned_memory: bool
    handler_auth: HandlerAuth


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("share", learned_memory=False, handler_auth="refs"),
        Profile("backup", learned_memory=True, handler_auth="full"),
        Profile("fork", learned_memory=False, handler_auth="omit"),
    )
}


def find_profile(name: str) -> Profile:
    """Return the profile of a name, or raise `InvalidArgument`."""
    profile = PROFILES.get(name)
    if profile is None:
        raise InvalidArgument("profile", f"it is one of {', '.join(PROFILES)}, not {name!r}")
    return profile


def select_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a configuration that are exported."""
    return {key: setting for key, setting in config.items() if key not in LOCAL_KEYS}


def apply_handler_auth(profile: Profile, settings: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the settings of a step as a profile exports them; `place` names the step."""
    if profile.handler_auth == "omit":
        return {}
    if profile.handler_auth == "full":
        return dict(settings)
    return {key: _replace_secret(key, setting, place, 0) for key, setting in settings.items()}


def _replace_secret(key: str, setting: object, place: str, depth: int) -> object:
    is_secret = is_secret_key(split_key(key)) and not isinstance(setting, bool | int | float)
    if is_secret and setting not in (None, "", {}, []):
        return f"<auth-ref:{place}/{key}>"
    if depth < _DEEPEST and isinstance(setting, dict):
        return {
            name: _replace_secret(name, part, place, depth + 1) for name, part in setting.items()
        }
    if depth < _DEEPEST and isinstance(setting, list):
        return [_replace_secret(key, part, place, depth + 1) for part in setting]
    return setting


AGENT, CONFIG, MEMORY, USER = "agent", "agent_config", "memory", "user_page"
PIPELINE, FLOW, SCHEDULE, QUEUE = "pipeline", "flow", "schedule", "seed_queue"
UPLOAD, EXTRA, PROMPT, AUTH_REF = "upload", "extra", "prompt", "auth_ref"
NAME = f"{AGENT}:name"
IDENTITY = f"{MEMORY}:{IDENTITY_PAGE}"
QUEUE_KEYS = ("prompt_queue", "queue_mode")
RUNTIME_KEYS = ("schedule", *QUEUE_KEYS)  # of a flow: what its runs and people change
# The order in which artifacts are applied: a flow needs its pipeline.
ORDER = (AGENT, CONFIG, MEMORY, USER, PIPELINE, FLOW, SCHEDULE, QUEUE, PROMPT, UPLOAD, EXTRA)


@value
class Artifact:
    """A part of a bundle; `key` is its kind and name, such as flow:morning."""

    key: str
    path: str
    payload: Any  # a text, or JSON

    @property
    def kind(self) -> str:
        """The kind, which says how it is applied."""
        return self.key.partition(":")[0]

    @property
    def name(self) -> str:
        """The name among its kind."""
        return self.key.partition(":")[2]

    @property
    def hash(self) -> str:
        """The sha256 of the text, or of the JSON in one form."""
        return hash_payload(self.payload)

    @property
    def is_learned(self) -> bool:
        """Whether agents and people write its content, so that no upgrade may replace it."""
        return self.kind in (UPLOAD, USER) or (self.kind == MEMORY and self.key != IDENTITY)


def list_artifacts(bundle: Bundle) -> dict[str, Artifact]:
    """Return the artifacts of a bundle by key, in the order in which they are applied."""
    artifacts = sorted(
        _build_artifacts(bundle), key=lambda part: (ORDER.index(part.kind), part.key)
    )
    return {artifact.key: artifact for artifact in artifacts}


def pause_schedule(artifact: Artifact) -> Artifact:
    """Return a schedule that starts nothing before a person has approved it."""
    return replace(artifact, payload={**artifact.payload, "enabled": False})


def hold_back(artifact: Artifact) -> Artifact | None:
    """Return what an install writes in the place of an artifact that waits, or None for nothing.

    A schedule is paused. Of a tool policy, the tools for the agent's own memory stay: without any
    policy the agent could use more than its author meant.
    """
    if artifact.kind == SCHEDULE:
        return pause_schedule(artifact)
    if artifact.key == TOOLS:
        tools = [name for name in artifact.payload.get("tools", ()) if name in MODEL_TOOLS]
        return replace(artifact, payload={"mode": "allow", "tools": tools})
    return None


def _build_artifacts(bundle: Bundle) -> Iterator[Artifact]:
    agent = bundle.manifest.agent
    yield Artifact(NAME, "manifest.json", agent.label)
    for key, setting in agent.agent_config.items():
        yield Artifact(f"{CONFIG}:{key}", "manifest.json", setting)
    for name, content in bundle.pages.items():
        yield Artifact(f"{MEMORY}:{name}", f"{AGENT_PAGES}{name}", _decode_text(content))
    if bundle.user_page is not None:
        yield Artifact(f"{USER}:USER.md", USER_PAGE, _decode_text(bundle.user_page))
    pipelines, flows = normalize_workflows(bundle)
    for slug, document in pipelines.items():
        yield Artifact(f"{PIPELINE}:{slug}", f"{PIPELINES}{slug}.json", document)
    for slug, document in flows.items():
        path = f"{FLOWS}{slug}.json"
        fields = {key: field for key, field in document.items() if key not in RUNTIME_KEYS}
        yield Artifact(f"{FLOW}:{slug}", path, fields)
        yield Artifact(f"{SCHEDULE}:{slug}", path, document["schedule"])
        queue = {key: document[key] for key in QUEUE_KEYS if document.get(key)}
        if queue.get("prompt_queue"):
            yield Artifact(f"{QUEUE}:{slug}", path, queue)
    for path, content in bundle.uploads.items():
        key = f"{UPLOAD}:{path.removeprefix(MEMORY_FILES)}"
        yield Artifact(key, place_upload(path, content), _decode_text(content))
    for name, text in bundle.prompts.items():
        yield Artifact(f"{PROMPT}:{name}", place_prompt(name), text)
    for path, content in bundle.extras.items():
        yield Artifact(f"{EXTRA}:{path}", path, _decode_text(content))


def _decode_text(content: bytes) -> str:
    return content.decode(errors="surrogateescape")


# The rights of an agent, and the check whether a bundle widens them.


TOOLS, PAGES = f"{CONFIG}:tool_policy", f"{CONFIG}:memory_policy"
_INNER_STEPS = ("ai", "input", "memory_update")  # other types reach beyond the agent's memory
# Settings of steps that say what is written where, and which task runs.
_REACH = ("target", "folder", "filename", "replace", "site", "status", "task_type", "params")
_TOOL_LISTS = ("enabled_tools", "disabled_tools")
# Keys of a configuration whose meaning is known here; another one may be a right of a plugin.
_KNOWN_KEYS = (
    *("allowed_redirect_uris", "chat", "daily_memory", "description", "memory_policy", "model"),
    *("mode_models", "models", "pinned_sections", "prompt_budget", "provider", "tool_policy"),
)


def widens_rights(target: Artifact, current: Artifact | None) -> bool:
    """Return whether an artifact allows more than the present one; in doubt, it does."""
    before = None if current is None else current.payload
    try:
        if target.key == TOOLS:
            return _widens_tools(before, target.payload)
        if target.key == PAGES:
            return _widens_pages(before, target.payload)
        if target.kind == CONFIG:
            return target.name not in _KNOWN_KEYS
        if target.kind == PIPELINE:
            return _widens_pipeline(before, target.payload)
        if target.kind == FLOW:
            return _widens_flow(before, target.payload)
    except Invalid:
        return True  # the present policy is invalid, so that the two cannot be compared
    return False


def _widens_pipeline(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> bool:
    """Return whether a pipeline has more tools or reaches further; a new one: beyond memory."""
    if before is None:
        types = [step.get("step_type", _INNER_STEPS[0]) for step in after.get("steps", ())]
        return any(name not in _INNER_STEPS for name in types)
    policies = (before.get("tool_policy"), after.get("tool_policy"))
    return _widens_tools(*policies) or _widens_steps(before, after, "step_config")


def _widens_flow(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> bool:
    egress = _widens_egress((before or {}).get("run_artifacts"), after["run_artifacts"])
    return egress or (before is not None and _widens_steps(before, after, "handler_configs"))


def starts_by_itself(target: Artifact) -> bool:
    """Return whether a schedule would run its flow without anyone asking."""
    if target.kind != SCHEDULE:
        return False
    schedule: Mapping[str, Any] = target.payload
    return bool(schedule.get("enabled", True)) and schedule.get("interval", MANUAL) != MANUAL


def _widens_tools(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    present, new = parse_tool_policy(before or None), parse_tool_policy(after or None)
    present_lists = [set(present.tools), set(present.categories), set(present.outside_tools)]
    new_lists = [set(new.tools), set(new.categories), set(new.outside_tools)]
    if present.mode == "deny" and not any(present_lists):
        # Everything is allowed already, but only what an allow list names is offered in a chat.
        is_allow_list = new.mode == "allow" and (new.categories or new.outside_tools)
        return bool(is_allow_list) or (new.mode == "allow" and not new_lists[0] <= {*MODEL_TOOLS})
    if (present.mode, new.mode) == ("deny", "deny"):
        return not all(
            old_tools <= new_tools
            for old_tools, new_tools in zip(present_lists, new_lists, strict=True)
        )
    if (present.mode, new.mode) == ("allow", "allow"):
        return not all(
            new_tools <= old_tools
            for old_tools, new_tools in zip(present_lists, new_lists, strict=True)
        )
    return True


def _widens_steps(before: Mapping[str, Any], after: Mapping[str, Any], field: str) -> bool:
    """Return whether a step has more tools, writes elsewhere, or is new and reaches outside."""
    former_steps = {step["step_id"]: step for step in before.get("steps", ())}
    for step in after.get("steps", ()):
        former = former_steps.get(step["step_id"])
        is_same_type = former is not None and former.get("step_type") == step.get("step_type")
        if not is_same_type and step.get("step_type", _INNER_STEPS[0]) not in _INNER_STEPS:
            return True
        present, new = (former or {}).get(field, {}), step.get(field, {})
        if any(key in new and new[key] != present.get(key) for key in _REACH):
            return True
        if former is not None and _widens_tool_lists(present, new):
            return True
    return False


def _widens_tool_lists(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    allow_lists, deny_lists = ((before.get(name), after.get(name)) for name in _TOOL_LISTS)
    if allow_lists[0] is not None and (
        allow_lists[1] is None or not set(allow_lists[1]) <= set(allow_lists[0])
    ):
        return True
    return not set(deny_lists[0] or ()) <= set(deny_lists[1] or ())


def _widens_egress(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> bool:
    """Return whether more artifacts of a run may be sent elsewhere."""
    return any((before or {}).get(source) != entry for source, entry in after.items())


def _widens_pages(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    present, new = parse_memory_policy(before or None), parse_memory_policy(after or None)
    if (present.binds, new.binds) == ("access", "injection"):
        return True
    if present.mode == "default":
        return False
    if (present.mode, new.mode) == ("deny", "deny"):
        return not set(present.deny) <= set(new.deny)
    if (present.mode, new.mode) == ("allow_only", "allow_only"):
        return not set(new.allow_only) <= set(present.allow_only)
    return True


# Parts that need other parts: a flow its pipeline, a schedule and a queue their flow, an uploaded
# file its pipeline or flow.


def find_needed_key(artifact: Artifact) -> str:
    """Find the key of the part that must be stored before an artifact, or "" if it needs none."""
    if artifact.kind == FLOW:
        return f"{PIPELINE}:{artifact.payload['pipeline_slug']}"
    if artifact.kind in (SCHEDULE, QUEUE):
        return f"{FLOW}:{artifact.name}"
    if artifact.kind == UPLOAD:
        path = f"{MEMORY_FILES}{artifact.name}"
        is_of_pipeline = path.startswith(PIPELINE_FILES)
        slug = path.removeprefix(PIPELINE_FILES).removeprefix(FLOW_FILES).partition("/")[0]
        return f"{PIPELINE if is_of_pipeline else FLOW}:{slug}"
    return ""


def has_other_steps(
    key: str, target: Mapping[str, Artifact], current: Mapping[str, Artifact]
) -> bool:
    """Return whether a pipeline would get other steps, on which settings of its flows depend."""
    if key not in target or key not in current or not key.startswith(f"{PIPELINE}:"):
        return False
    new_steps: object = target[key].payload.get("steps")
    return bool(new_steps != current[key].payload.get("steps"))


def add_dependents(
    keys: Collection[str], target: Mapping[str, Artifact], current: Mapping[str, Artifact]
) -> set[str]:
    """Add what new pipelines and flows among the keys have: files, queues, schedules at rest."""
    new_keys = {key for key in keys if key not in current}
    return {*keys} | {
        key
        for key, artifact in target.items()
        if artifact.kind in (SCHEDULE, QUEUE, UPLOAD)
        and find_needed_key(artifact) in new_keys
        and not starts_by_itself(artifact)
    }


def require_pipelines(
    keys: Collection[str], target: Mapping[str, Artifact], current: Mapping[str, Artifact]
) -> None:
    """Raise `InvalidArgument` if a part is approved without the one that it needs.

    That is a part which is not here yet, or the new steps of a flow's pipeline.
    """
    for key in sorted(keys):
        needed = find_needed_key(target[key])
        if not needed or needed in keys:
            continue
        if needed in target and needed not in current:
            raise InvalidArgument("keys", f"{key} needs {needed}; approve both")
        if key.startswith(f"{FLOW}:") and has_other_steps(needed, target, current):
            raise InvalidArgument("keys", f"{key} needs the steps of {needed}; approve both")
