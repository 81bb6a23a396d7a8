"""Artifacts of a job: files and pages; the egress policy, references, and masking of secrets."""

from __future__ import annotations

import hashlib
import re
from itertools import pairwise

from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import InvalidWorkflow
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from looseleaf.settings import Settings


@value
class ArtifactFile:
    """A file that a job left: its reference, and the size and hash of its content.

    Fields:
        ref: The reference, such as datamachine://jobs/7/artifacts/transcript/draft.
        type: The type of the artifact.
        bytes: The size of the content.
        sha256: The hash of the content.
    """

    ref: str
    type: str
    bytes: int
    sha256: str


@value(kw_only=True)
class DailyMemoryArtifact:
    """A day of the journal that a job wrote, as a package includes it.

    Fields:
        type: agent_daily_memory.
        agent_id: The agent whose day it is.
        agent_slug: The slug of that agent.
        date: The day, as YYYY-MM-DD.
        source: daily-memory.
        bundle_relative_path: The place of the day in a bundle.
        content: The whole day as the job left it, or the text that was written, if that revision
            is no longer kept.
    """

    type: str
    agent_id: int
    agent_slug: str
    date: str
    source: str
    bundle_relative_path: str
    content: str


@value(kw_only=True)
class AgentMemoryArtifact:
    """A page that a job wrote, as a package includes it.

    Fields:
        type: agent_memory.
        agent_id: The agent that wrote it.
        agent_slug: The slug of that agent.
        file: The name of the page.
        layer: The layer of the page.
        section: The section that was written last, or "" if that is not known.
        source: agent-memory.
        bundle_relative_path: The place of the page in a bundle.
        content: The whole page as the job left it, or the text that was written, if that revision
            is no longer kept.
    """

    type: str
    agent_id: int
    agent_slug: str
    file: str
    layer: str
    section: str
    source: str
    bundle_relative_path: str
    content: str


def hash_text(text: str) -> str:
    """Return the sha256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# The egress policy of a flow: which artifacts of a run may leave, and to which targets.
# Looseleaf checks the policy and builds the artifacts. The program that reads both sends them.


SOURCES = ("completion_assertions", "daily_memory", "transcript_summary")
TARGETS = ("artifact", "bundle-file", "pr-body")
_WITH_PATH = "daily_memory"
_LONGEST_PATH = 500
_SOURCE_NAMES = {
    "completion_assertions": ("Checks of completion", "What a run asserts about its completion."),
    "daily_memory": ("Days of the journal", "The days of the journal that a run wrote."),
    "transcript_summary": ("Summary of the transcript", "The summary of what was said in a run."),
}


def _build_source_schema(source: str) -> dict[str, Any]:
    title, description = _SOURCE_NAMES[source]
    properties: dict[str, Any] = {
        "egress": {
            "type": "array",
            "items": {"type": "string", "enum": list(TARGETS)},
            "title": title,
            "description": f"{description} It may go to these targets; to none by default.",
        }
    }
    if source == _WITH_PATH:
        properties["bundle_relative_path"] = {
            "type": "string",
            "maxLength": _LONGEST_PATH,
            "format": "line",
            "title": f"Path of the {title[:1].lower()}{title[1:]}",
            "description": "Its place in a bundle, such as memory/agent/daily.",
        }
    return {"type": "object", "additionalProperties": False, "properties": properties}


# The policy as people fill it in: by forms, and by --set run_artifacts.NAME=VALUE.
EGRESS_SETTINGS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {source: _build_source_schema(source) for source in SOURCES},
}


def normalize_egress(policy: Any, *, targets: Collection[str] = TARGETS) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Return the known sources and targets of a policy, in one order, or {} if there are none.

    A source keeps its targets if its path is dropped; a source without targets is dropped.
    """
    if not isinstance(policy, dict):
        return {}
    normal: dict[str, Any] = {}
    for source in SOURCES:
        entry = policy.get(source)
        if not isinstance(entry, dict) or not isinstance(entry.get("egress"), list | tuple):
            continue
        names = {name.strip().lower() for name in entry["egress"] if isinstance(name, str)}
        egress = sorted(names & set(targets))
        if not egress:
            continue
        normal[source] = {"egress": egress}
        path = normalize_path(entry.get("bundle_relative_path"))
        if path and source == _WITH_PATH:
            normal[source]["bundle_relative_path"] = path
    return normal


def check_egress(policy: Mapping[str, Any] | None) -> None:
    """Raise `InvalidWorkflow` if a policy names a source or target that there is not."""
    for source, entry in (policy or {}).items():
        if source not in SOURCES:
            reason = f"{source!r} is no kind of artifact; there are {', '.join(SOURCES)}"
            raise InvalidWorkflow("flow", f"run_artifacts: {reason}")
        names = entry.get("egress") if isinstance(entry, dict) else None
        if not isinstance(names, list | tuple):
            raise InvalidWorkflow("flow", f"run_artifacts.{source}: egress is a list of targets")
        for name in names:
            if not isinstance(name, str) or name.strip().lower() not in TARGETS:
                reason = f"{name!r} is no target; there are {', '.join(TARGETS)}"
                raise InvalidWorkflow("flow", f"run_artifacts.{source}.egress: {reason}")


def normalize_path(path: Any) -> str:  # noqa: ANN401 - any JSON
    """Return a path below a bundle, or "" for anything else, such as a path that leaves it."""
    if not isinstance(path, str) or not path.isprintable() or len(path) > _LONGEST_PATH:
        return ""
    segments = [segment for segment in path.strip().replace("\\", "/").split("/") if segment]
    if any(segment.strip() in (".", "..", "") for segment in segments):
        return ""
    return "/".join(segments)


# References of artifacts: addresses without a file path, so that none reaches another file.


_SHAPE = re.compile(
    r"datamachine://jobs/([1-9][0-9]{0,17})/artifacts/([a-z][a-z0-9_-]{0,63})"
    r"(?:/([A-Za-z0-9][A-Za-z0-9._-]{0,199}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,99}){0,5}))?"
)


@value
class ArtifactReference:
    """The job, the type of the artifact, and a qualifier among artifacts of the type."""

    job_id: int
    type: str
    qualifier: str = ""

    def __str__(self) -> str:
        end = f"/{self.qualifier}" if self.qualifier else ""
        return f"datamachine://jobs/{self.job_id}/artifacts/{self.type}{end}"


def parse_reference(text: str) -> ArtifactReference:
    """Read a reference, or raise `InvalidArgument`."""
    parts = _SHAPE.fullmatch(text)
    if parts is None or ".." in text:
        raise InvalidArgument(
            "ref",
            "it looks like datamachine://jobs/7/artifacts/transcript; jobs artifacts lists them",
        )
    return ArtifactReference(int(parts[1]), parts[2], parts[3] or "")


# Masking: secrets are taken out of packets and artifacts by their keys, shapes and values.


MASK = "[redacted]"
_DEEPEST = 32
_SHORTEST_SECRET = 6  # a shorter known value would mask ordinary words
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Words of a key whose value is a secret; `author` is none of them.
_SECRET_WORDS = {
    *("apikey", "auth", "authentication", "authorization", "bearer", "cookie", "cookies"),
    *("credential", "credentials", "nonce", "passphrase", "passwd", "password", "passwords"),
    *("pwd", "secret", "secrets", "signature", "token", "tokens"),
}
_SECRET_PAIRS = {("api", "key"), ("private", "key"), ("access", "key"), ("secret", "key")}
_SECRET_PART = re.compile(r"apikey|password|secret|credential|accesstoken|authtoken|nonce")
_COUNTED = {"token", "tokens"}  # a number under such a key counts a model's tokens
_SHAPES = (
    re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"),
    re.compile(
        r"(?i)\b([a-z_-]{0,40}(?:api[_-]?key|password|passwd|secret|token|signature|nonce))"
        r"([\"']?\s*[=:]\s*[\"']?)[^\s\"'&,;]{3,}"
    ),
    re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|xox[abp]|glpat)[-_][A-Za-z0-9_-]{16,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    re.compile(r"(?<=://)[^\s/@:]{1,200}:[^\s/@]{1,200}(?=@)"),
)


class SecretMask:
    """Masks secrets in JSON and in texts; `secrets` are values that are masked anywhere."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = sorted({text for text in secrets if len(text) >= _SHORTEST_SECRET}, key=len)
        self._secrets = tuple(reversed(values))  # a longer value first, since it may hold a shorter

    def mask(self, document: Any, *, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON
        """Return JSON without its secrets."""
        if isinstance(document, str):
            return self.mask_text(document)
        if depth >= _DEEPEST and isinstance(document, dict | list | tuple):
            return MASK
        if isinstance(document, dict):
            return {
                key if isinstance(key, str) else str(key): self._mask_entry(key, entry, depth)
                for key, entry in document.items()
            }
        if isinstance(document, list | tuple):
            return [self.mask(entry, depth=depth + 1) for entry in document]
        return document

    def mask_text(self, text: str) -> str:
        """Return a text without its secrets."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        for shape in _SHAPES:
            text = shape.sub(_mask_shape, text)
        return text

    def _mask_entry(self, key: object, entry: Any, depth: int) -> Any:  # noqa: ANN401 - any JSON
        words = split_key(key) if isinstance(key, str) else ()
        if not is_secret_key(words) or entry is None or isinstance(entry, bool):
            return self.mask(entry, depth=depth + 1)
        counts = isinstance(entry, int | float) and _COUNTED & set(words)
        return entry if counts else MASK


def split_key(key: str) -> tuple[str, ...]:
    """Split a key such as x-api_key or accessToken into words in lower case."""
    return tuple(word.lower() for word in _WORD.findall(key))


def is_secret_key(words: tuple[str, ...]) -> bool:
    """Return whether the value under a key of these words is a secret."""
    if not _SECRET_WORDS.isdisjoint(words) or not _SECRET_PAIRS.isdisjoint(pairwise(words)):
        return True
    return any(map(_SECRET_PART.search, words))


def _mask_shape(shape: re.Match[str]) -> str:
    groups = shape.groups()
    if not groups:
        return MASK
    return f"{groups[0]}{groups[1]}{MASK}" if len(groups) > 1 else f"{groups[0]} {MASK}"


def list_secrets(settings: Settings) -> tuple[str, ...]:
    """List the secret values of the settings, which no artifact of a job may have."""
    secrets = [provider.key for provider in settings.providers]
    secrets += [site.password for site in settings.wordpress_sites]
    return tuple(secret.reveal() for secret in secrets if secret is not None)
