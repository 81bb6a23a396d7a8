"""A bundle as a value: the agent's definition, pages and workflows, read from files and checked."""

from __future__ import annotations

import re

from looseleaf.bundles.archive_paths import ArchiveNames, check_archive_path
from looseleaf.bundles.layout.archive import MANIFEST
from looseleaf.bundles.layout.bundle_json import format_json, parse_json
from looseleaf.bundles.layout.manifest import format_manifest, parse_manifest
from looseleaf.bundles.layout.workflow_files import parse_flow, parse_pipeline
from looseleaf.errors import InvalidBundle, InvalidName
from looseleaf.memory.scope import check_filename, check_folder
from looseleaf.values import FrozenDict, changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.bundles.layout.manifest import Manifest

AGENT_PAGES = "memory/agent/"
USER_PAGE = "memory/USER.md"
PIPELINE_FILES, FLOW_FILES = "memory/pipelines/", "memory/flows/"
PIPELINES, FLOWS = "pipelines/", "flows/"
_EXTRA_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_RESERVED = {"memory", "pipelines", "flows"}


@value
class Bundle:
    """An agent as files.

    Fields:
        manifest: What the bundle is called, and the agent's definition.
        pages: The agent's pages by name.
        user_page: The USER.md of its owner; None where it does not travel.
        pipelines: The files of pipelines by slug, as JSON.
        flows: The files of flows by slug, as JSON.
        uploads: Uploaded texts of pipelines and flows, by their path in the bundle.
        extras: Files that Looseleaf keeps and does not use, by path.
    """

    manifest: Manifest
    pages: Mapping[str, bytes] = FrozenDict()
    user_page: bytes | None = None
    pipelines: Mapping[str, Mapping[str, Any]] = FrozenDict()
    flows: Mapping[str, Mapping[str, Any]] = FrozenDict()
    uploads: Mapping[str, bytes] = FrozenDict()
    extras: Mapping[str, bytes] = FrozenDict()


def format_bundle(bundle: Bundle) -> dict[str, bytes]:
    """Write a bundle as files by path; the manifest lists what the files are."""
    files = {f"{AGENT_PAGES}{name}": content for name, content in bundle.pages.items()}
    if bundle.user_page is not None:
        files[USER_PAGE] = bundle.user_page
    files |= bundle.uploads
    memory = [path.removeprefix("memory/") for path in files]
    files |= {
        f"{PIPELINES}{slug}.json": format_json(document)
        for slug, document in bundle.pipelines.items()
    }
    files |= {
        f"{FLOWS}{slug}.json": format_json(document) for slug, document in bundle.flows.items()
    }
    files |= bundle.extras
    included = {
        **{
            kind: names for kind, names in bundle.manifest.included.items() if kind not in _RESERVED
        },
        "memory": sorted(memory),
        "pipelines": sorted(bundle.pipelines),
        "flows": sorted(bundle.flows),
    }
    manifest = changed(bundle.manifest, included=included)
    return {MANIFEST: format_json(format_manifest(manifest)), **files}


def parse_bundle(files: Mapping[str, bytes]) -> Bundle:
    """Read a bundle from its files, or raise `InvalidBundle` or `InvalidArchive`."""
    names = ArchiveNames()
    for path in files:
        names.add(check_archive_path(path))
    if MANIFEST not in files:
        raise InvalidBundle(MANIFEST, "it is missing")
    manifest = parse_manifest(parse_json(MANIFEST, files[MANIFEST]))
    parts: dict[str, dict[str, Any]] = {name: {} for name in ("pages", "pipelines", "flows")}
    parts |= {"uploads": {}, "extras": {}}
    user_page = None
    for path, content in sorted(files.items()):
        if path == USER_PAGE:
            user_page = _check_text(path, content)
        elif path != MANIFEST:
            kind, name, payload = _sort_file(path, content)
            parts[kind][name] = payload
    bundle = Bundle(manifest, **{**parts, "user_page": user_page})  # type: ignore[arg-type]
    _check_included(bundle)
    _check_references(bundle)
    return bundle


def _sort_file(path: str, content: bytes) -> tuple[str, str, object]:
    """Say which part of the bundle a file belongs to, under which name, with its content."""
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
    return "extras", path, _check_text(path, content)


def _check_text(path: str, content: bytes) -> bytes:
    try:
        content.decode()
    except UnicodeDecodeError:
        raise InvalidBundle(path, "it is not UTF-8 text") from None
    if b"\0" in content:
        raise InvalidBundle(path, "it is no text: it holds a NUL")
    return content


def _check_included(bundle: Bundle) -> None:
    """Compare the lists of the manifest with the files that are there."""
    memory = [f"agent/{name}" for name in bundle.pages] + (
        ["USER.md"] if bundle.user_page is not None else []
    )
    memory += [path.removeprefix("memory/") for path in bundle.uploads]
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
        kind, slug, name = path.removeprefix("memory/").split("/")
        if slug not in (bundle.pipelines if kind == "pipelines" else bundle.flows):
            raise InvalidBundle(path, f"the bundle has no {kind.removesuffix('s')} {slug!r}")
        check_folder(name)
