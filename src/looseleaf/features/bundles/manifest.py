"""The manifest of a bundle: its name and version, the agent that it defines, and its content."""

from __future__ import annotations

import hashlib
import json
import math
import re
from itertools import islice

from looseleaf.agents.config import check_config
from looseleaf.agents.record import check_name, check_slug
from looseleaf.errors import Invalid
from looseleaf.errors.features import InvalidBundle
from looseleaf.features.bundles.zip_archive import MANIFEST
from looseleaf.memory.hidden_characters import find_invisible
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal, NoReturn

    HandlerAuth = Literal["refs", "full", "omit"]


SCHEMA_VERSION = 1
LONGEST_TEXT = 191
_MOST_CAPABILITIES = 100
CAPABILITIES = "capabilities"
EPOCH = "1970-01-01T00:00:00Z"  # the time of an export that is the same whenever it is made
PROGRAM = "looseleaf"
HANDLER_AUTH: tuple[HandlerAuth, ...] = ("refs", "full", "omit")
KINDS = ("memory", "pipelines", "flows")  # required lists of `included`
OTHER_KINDS = ("prompts", "rubrics", "tool_policies", "auth_refs", "seed_queues", "extensions")
_FIELDS = {
    *("schema_version", "bundle_slug", "bundle_version", "source_ref", "source_revision"),
    *("exported_at", "exported_by", "agent", "included", "run_artifacts", "capabilities"),
    "subagents",
}
_AGENT_FIELDS = {"slug", "label", "description", "agent_config"}
_KEPT_FIELDS = ("references", "site_scope", "skill_policy", "skills")
# Fields that are refused, since without them the agent would lack a limit or a part.
_REFUSED_FIELDS = ("subagents", "tool_policy")


@value
class BundleAgent:
    """The agent that a bundle defines; `kept` holds fields that only other programs use."""

    slug: str
    label: str
    description: str = ""
    agent_config: Mapping[str, Any] = FrozenDict()
    kept: Mapping[str, Any] = FrozenDict()


@value(kw_only=True)
class Manifest:
    """The manifest.

    `opaque` holds fields of other programs, which are kept as they are; `capabilities` are those
    that a workspace must have to run the agent.
    """

    bundle_slug: str
    bundle_version: str
    agent: BundleAgent
    included: Mapping[str, Any]
    handler_auth: str = "refs"
    source_ref: str = ""
    source_revision: str = ""
    exported_at: str = EPOCH
    exported_by: str = PROGRAM
    opaque: Mapping[str, Any] = FrozenDict()
    capabilities: tuple[str, ...] = ()


def format_manifest(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest as a JSON document; its lists are sorted."""
    agent = manifest.agent
    contents: dict[str, Any] = {
        kind: sorted(manifest.included.get(kind, ())) for kind in (*KINDS, *OTHER_KINDS)
    }
    capabilities = list(manifest.capabilities)
    return {
        **manifest.opaque,
        **({"capabilities": capabilities} if capabilities else {}),
        "schema_version": SCHEMA_VERSION,
        "bundle_slug": manifest.bundle_slug,
        "bundle_version": manifest.bundle_version,
        "source_ref": manifest.source_ref,
        "source_revision": manifest.source_revision,
        "exported_at": manifest.exported_at,
        "exported_by": manifest.exported_by,
        "agent": {
            **agent.kept,
            "slug": agent.slug,
            "label": agent.label,
            "description": agent.description,
            "agent_config": dict(agent.agent_config),
        },
        "included": contents | {"handler_auth": manifest.handler_auth},
    }


def parse_manifest(document: Mapping[str, Any]) -> Manifest:
    """Read a manifest, or raise `InvalidBundle` with the field that is wrong."""
    version = document.get("schema_version")
    if version != SCHEMA_VERSION or type(version) is not int:
        raise _refuse(f"schema_version is {version!r}, and this Looseleaf reads {SCHEMA_VERSION}")
    foreign = sorted(set(document) - _FIELDS)
    if foreign:
        raise _refuse(f"it has no field {foreign[0]!r}; schema_version {SCHEMA_VERSION} has none")
    contents = document.get("included")
    if not isinstance(contents, dict):
        raise _refuse("included is missing, or no object")
    lists = {kind: _read_list(contents, kind) for kind in (*KINDS, *OTHER_KINDS)}
    handler_auth = contents.get("handler_auth", "refs")
    if handler_auth not in HANDLER_AUTH:
        raise _refuse(f"included.handler_auth is one of {', '.join(HANDLER_AUTH)}")
    if document.get("subagents"):
        raise _refuse("it has subagents, which this Looseleaf does not have")
    capabilities = document.get("capabilities") or []
    is_list = isinstance(capabilities, list) and len(capabilities) <= _MOST_CAPABILITIES
    if not is_list or not all(isinstance(name, str) for name in capabilities):
        raise _refuse(f"capabilities is no list of at most {_MOST_CAPABILITIES} names")
    slug = check_bundle_slug(_read_text(document, "bundle_slug", is_required=True))
    return Manifest(
        bundle_slug=slug,
        bundle_version=_read_text(document, "bundle_version", is_required=True),
        agent=_read_agent(document.get("agent")),
        included=lists,
        handler_auth=handler_auth,
        source_ref=_read_text(document, "source_ref"),
        source_revision=_read_text(document, "source_revision"),
        exported_at=_read_text(document, "exported_at") or EPOCH,
        exported_by=_read_text(document, "exported_by") or PROGRAM,
        opaque={"run_artifacts": document["run_artifacts"]}
        if document.get("run_artifacts")
        else {},
        capabilities=tuple(sorted(set(capabilities))),
    )


def check_bundle_slug(slug: str) -> str:
    """Return the slug of a bundle, or raise `InvalidBundle` if no agent could have it."""
    try:
        check_slug(slug)
    except Invalid as error:
        raise InvalidBundle(MANIFEST, f"bundle_slug: {error}".rstrip(".")) from None
    return slug


def _read_agent(fields: object) -> BundleAgent:
    if not isinstance(fields, dict):
        raise _refuse("agent is missing, or no object")
    known_fields = {*_AGENT_FIELDS, *_KEPT_FIELDS, *_REFUSED_FIELDS}
    unsupported_fields = sorted(set(fields) - known_fields)
    unsupported_fields += [name for name in _REFUSED_FIELDS if fields.get(name)]
    if unsupported_fields:
        names = ", ".join(unsupported_fields)
        raise _refuse(f"agent has {names}, which this Looseleaf does not have")
    slug = _read_text(fields, "slug", is_required=True)
    config = fields.get("agent_config") or {}  # PHP writes [] for an empty object
    if not isinstance(config, dict):
        raise _refuse("agent.agent_config is no object")
    label = _read_text(fields, "label") or slug
    try:
        check_slug(slug)
        check_name(slug, label)
        check_config(slug, config)
    except Invalid as error:
        raise InvalidBundle(MANIFEST, f"agent: {error}".rstrip(".")) from None
    description = _read_text(fields, "description", limit=2_000)
    return BundleAgent(slug, label, description, config, _read_kept(fields))


def _read_kept(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in _KEPT_FIELDS if name in fields}


def _read_list(contents: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    names = contents.get(kind, None if kind in KINDS else [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _refuse(f"included.{kind} is missing, or no list of names")
    return tuple(sorted(names))


def _read_text(
    fields: Mapping[str, Any], name: str, *, is_required: bool = False, limit: int = LONGEST_TEXT
) -> str:
    text = fields.get(name) or ""
    if not isinstance(text, str) or len(text) > limit:
        raise _refuse(f"{name} is a text of at most {limit} characters")
    lines = re.split(r"[\r\n\t]", text) if limit > LONGEST_TEXT else [text]
    if any(find_invisible(line, allow_joiners=True) for line in lines):
        raise _refuse(f"{name} has characters that nobody sees")
    if is_required and not text.strip():
        raise _refuse(f"{name} is missing")
    return text


def _refuse(reason: str) -> InvalidBundle:
    return InvalidBundle(MANIFEST, reason)


# JSON in bundles: written the same way for the same content, and read strictly.


_DEEPEST = 40
MOST_PARTS = 100_000  # texts, brackets and commas of one document: some 10 MB when it is read
_PART = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{,]', re.DOTALL)


def format_json(document: Mapping[str, Any]) -> bytes:
    """Write a document with sorted keys, indented, with a line end: the same bytes every time."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, indent=4, allow_nan=False)
    return text.encode() + b"\n"


def parse_json(path: str, content: bytes, *, most_parts: int = MOST_PARTS) -> dict[str, Any]:
    """Read a JSON object that can be written again as it is; else `InvalidBundle`.

    It is UTF-8, has each key once, no NaN, no number beyond a float and no lone surrogate, and is
    neither too deep nor of too many parts: `[],[],` takes twenty times its size in memory.
    """
    if count_parts(content, most_parts) > most_parts:
        raise InvalidBundle(path, f"its JSON has more than {most_parts:,} parts")
    try:
        document = json.loads(
            content.decode(),
            object_pairs_hook=_build_object,
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
        )
    except RecursionError:
        raise InvalidBundle(path, "its JSON is nested too deep") from None
    except ValueError as error:
        raise InvalidBundle(path, f"it is not JSON ({error})") from None
    if not isinstance(document, dict):
        raise InvalidBundle(path, "it is not a JSON object")
    if _count_levels(document) > _DEEPEST:
        raise InvalidBundle(path, "its JSON is nested too deep")
    if b"\\u" in content and not _is_unicode(document):
        raise InvalidBundle(path, "its JSON has half of a character (a lone surrogate)")
    return document


def count_parts(content: bytes, most_parts: int) -> int:
    """Count the parts of JSON without parsing it; the count ends at `most_parts` + 1."""
    return sum(1 for _ in islice(_PART.finditer(content), most_parts + 1))


def hash_payload(payload: object) -> str:
    """Return the sha256 of a text, or of JSON with sorted keys and without blanks."""
    if not isinstance(payload, str):
        options = {"sort_keys": True, "ensure_ascii": False}
        payload = json.dumps(payload, separators=(",", ":"), **options)  # type: ignore[arg-type]
    return hashlib.sha256(payload.encode(errors="surrogateescape")).hexdigest()


def _build_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(members)
    if len(document) < len(members):
        raise ValueError("a key stands twice in one object")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _is_unicode(document: object) -> bool:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _count_levels(document: object) -> int:
    """Count the levels of nested objects and lists, without recursion."""
    level, depth = [document], 0
    while level:
        containers = [part for part in level if isinstance(part, dict | list)]
        level = [
            child
            for part in containers
            for child in (part.values() if isinstance(part, dict) else part)
        ]
        depth += bool(containers)
        if depth > _DEEPEST:
            break
    return depth
