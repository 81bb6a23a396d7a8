"""A bundle as a value: the agent's definition, pages and workflows, read from files and checked."""

from __future__ import annotations

import re

from looseleaf.bundles.archive_paths import ArchiveNames, check_archive_path
from looseleaf.bundles.layout.archive import MANIFEST
from looseleaf.bundles.layout.bundle_json import count_parts, format_json, parse_json
from looseleaf.bundles.layout.manifest import format_manifest, parse_manifest
from looseleaf.bundles.layout.prompt_files import (
    PROMPTS,
    TASK_PROMPTS,
    format_prompt,
    name_in_manifest,
    name_prompt,
    parse_prompt,
    place_prompt,
)
from looseleaf.bundles.layout.upload_files import (
    FLOW_FILES,
    MEMORY,
    PIPELINE_FILES,
    UPLOADS,
    format_upload,
    parse_upload,
    place_upload,
)
from looseleaf.bundles.layout.workflow_files import parse_flow, parse_pipeline
from looseleaf.bundles.zip_reader import ZipLimits
from looseleaf.errors import InvalidName
from looseleaf.errors.bundles import InvalidBundle
from looseleaf.memory.scope import check_filename, check_folder
from looseleaf.values import FrozenDict, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from looseleaf.bundles.layout.manifest import Manifest

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
