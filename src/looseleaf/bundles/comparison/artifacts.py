"""Artifacts: the parts of a bundle that are compared, approved and applied one by one."""

from __future__ import annotations

from looseleaf.bundles.layout.bundle import AGENT_PAGES, FLOWS, PIPELINES, USER_PAGE
from looseleaf.bundles.layout.bundle_json import hash_payload
from looseleaf.bundles.layout.prompt_files import place_prompt
from looseleaf.bundles.layout.upload_files import MEMORY as MEMORY_FILES
from looseleaf.bundles.layout.upload_files import place_upload
from looseleaf.bundles.layout.workflow_definitions import normalize_workflows
from looseleaf.bundles.profiles import IDENTITY_PAGE
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from looseleaf.bundles.layout.bundle import Bundle

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
