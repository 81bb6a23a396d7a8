"""The inspection of a bundle: its content, and the reasons why it could not be installed here."""

from __future__ import annotations

from collections import Counter

from looseleaf.agents.config import AgentConfig
from looseleaf.catalog.json_values import decode_data
from looseleaf.catalog.tool_access import check_tool_names
from looseleaf.errors import Invalid
from looseleaf.errors.features import InvalidBundle
from looseleaf.features.bundles.bundle import (
    AGENT_PAGES,
    build_definitions,
    check_amount,
    format_bundle,
    parse_bundle,
    place_prompt,
)
from looseleaf.features.bundles.bundle_files import is_document, parse_document
from looseleaf.features.bundles.datamachine import translate_workflows
from looseleaf.features.bundles.workspace_target import install_target_of
from looseleaf.features.bundles.zip_archive import MANIFEST, unpack_files
from looseleaf.features.workflows.access import check_workflow_names
from looseleaf.features.workflows.uploads import check_upload_name
from looseleaf.memory.store import hash_content
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.features.bundles.bundle import Bundle, WorkflowRules
    from looseleaf.features.bundles.export import PromptOverrides
    from looseleaf.features.bundles.manifest import Manifest
    from looseleaf.features.workflows.uploads import FileLimits


# The capabilities that this workspace has; a bundle that needs others is not installed.
HOST_CAPABILITIES = ("daily_memory", "flows", "memory", "pipelines", "prompts", "schedules")


@value
class BundleFile:
    """A file of a bundle, by its path in it."""

    path: str
    bytes: int
    hash: str


@value(kw_only=True)
class BundleReport:
    """A bundle and its content, as an inspection describes it.

    Fields:
        bundle_slug: The name of the bundle; upgrades have the same name.
        bundle_version: The version of the bundle.
        source_ref: The origin of the bundle, as its author wrote it.
        source_revision: The revision of that origin.
        exported_at: The time of the export; 1970 in bundles that are the same at every export.
        agent: The slug of the agent that the bundle defines.
        label: The agent's name for people.
        agent_config: The agent's configuration.
        handler_auth: Whether the bundle has settings of secrets (full), references (refs) or none.
        files: The files of the bundle.
        pipelines: The slugs of the pipelines.
        flows: The slugs of the flows.
        extras: Files that are kept with the agent and not used by Looseleaf.
        compatible: Whether this workspace could install the bundle.
        status: compatible or incompatible.
        problems: The reasons why it could not, one sentence each.
        required_capabilities: The capabilities that a workspace must have for this bundle.
        host_capabilities: The capabilities that this workspace has.
        unsupported_capabilities: The required capabilities that this workspace does not have.
        unknown_artifact_types: Folders of files that are kept and not used here.
        unsupported_artifacts: Files that make the bundle incompatible.
    """

    bundle_slug: str
    bundle_version: str
    source_ref: str
    source_revision: str
    exported_at: str
    agent: str
    label: str
    agent_config: Mapping[str, Any]
    handler_auth: str
    files: tuple[BundleFile, ...]
    pipelines: tuple[str, ...]
    flows: tuple[str, ...]
    extras: tuple[str, ...]
    compatible: bool
    status: str
    problems: tuple[str, ...]
    required_capabilities: tuple[str, ...]
    host_capabilities: tuple[str, ...]
    unsupported_capabilities: tuple[str, ...]
    unknown_artifact_types: tuple[str, ...]
    unsupported_artifacts: tuple[str, ...]


def inspect_bundle(bundle: Bundle, problems: tuple[str, ...]) -> BundleReport:
    """Describe a bundle, with every reason why it could not run here."""
    manifest = bundle.manifest
    return BundleReport(
        bundle_slug=manifest.bundle_slug,
        bundle_version=manifest.bundle_version,
        source_ref=manifest.source_ref,
        source_revision=manifest.source_revision,
        exported_at=manifest.exported_at,
        agent=manifest.agent.slug,
        label=manifest.agent.label,
        agent_config=manifest.agent.agent_config,
        handler_auth=manifest.handler_auth,
        files=describe_files(format_bundle(bundle)),
        pipelines=tuple(sorted(bundle.pipelines)),
        flows=tuple(sorted(bundle.flows)),
        extras=tuple(sorted(bundle.extras)),
        compatible=not problems,
        status="incompatible" if problems else "compatible",
        problems=problems,
        required_capabilities=manifest.capabilities,
        host_capabilities=HOST_CAPABILITIES,
        unsupported_capabilities=_find_unsupported(manifest),
        unknown_artifact_types=tuple(sorted({path.partition("/")[0] for path in bundle.extras})),
        unsupported_artifacts=tuple(
            sorted({problem.partition(": ")[0] for problem in problems} - {MANIFEST})
        ),
    )


def _find_unsupported(manifest: Manifest) -> tuple[str, ...]:
    return tuple(name for name in manifest.capabilities if name not in HOST_CAPABILITIES)


def find_problems(
    bundle: Bundle, rules: WorkflowRules, prompts: PromptOverrides, limits: FileLimits
) -> tuple[str, ...]:
    """Return why parts of a bundle could not be stored, such as unknown steps, each by its file.

    `limits` are those of uploaded files.
    """
    capability_names = ", ".join(_find_unsupported(bundle.manifest))
    problems = []
    if capability_names:
        problems.append(
            f"{MANIFEST}: it needs {capability_names}, which this Looseleaf does not have"
        )
    for slug in sorted(bundle.pipelines):
        try:
            build_definitions(bundle, slug, rules)
        except Invalid as error:
            problems.append(f"pipelines/{slug}.json: {error}")
    for name, text in sorted(bundle.prompts.items()):
        try:
            prompts.check(name, text)
        except Invalid as error:
            problems.append(f"{place_prompt(name)}: {error}")
    problems += _find_misspelled(bundle, rules)
    return (*problems, *_find_refused_uploads(bundle, limits))


def _find_misspelled(bundle: Bundle, rules: WorkflowRules) -> Iterator[str]:
    """Name pages whose names differ from a registered page only by case."""
    for name in sorted(bundle.pages):
        registered_file = rules.registry.get(name)
        if registered_file is not None and registered_file.filename != name:
            reason = f"its name differs from {registered_file.filename} only by case"
            yield f"{AGENT_PAGES}{name}: {reason}"


def _find_refused_uploads(bundle: Bundle, limits: FileLimits) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for path, content in sorted(bundle.uploads.items()):
        folder, _, name = path.rpartition("/")
        counts[folder] += 1
        try:
            check_upload_name(name, limits.types)
        except Invalid as error:
            yield f"{path}: {error}"
        if len(content) > limits.size:
            yield f"{path}: it has more than {limits.size:,} bytes (max_upload_bytes)"
        if counts[folder] == limits.count + 1:
            yield f"{path}: its folder has more than {limits.count} files (max_uploads)"


def describe_files(files: Mapping[str, bytes]) -> tuple[BundleFile, ...]:
    """List files with their sizes and hashes, by path."""
    return tuple(
        BundleFile(path, len(content), hash_content(content))
        for path, content in sorted(files.items())
    )


# A bundle as operations take it, and every reason why this workspace could not install it.


def read_bundle(context: Context, data: str) -> Bundle:
    """Read a bundle from base64: a zip archive, or one JSON document with its files.

    Pipelines and flows that Data Machine has written become workflows of our types.
    """
    content = decode_data(data)
    files = parse_document(content) if is_document(content) else unpack_files(content)
    check_amount(files)
    return parse_bundle(translate_workflows(files, context.pages.registry))


def find_misfits(context: Context, bundle: Bundle) -> tuple[str, ...]:
    """Return why parts of a bundle could not be stored here, each with its file."""
    destination = install_target_of(context)
    rules = destination.rules()
    problems = find_problems(bundle, rules, destination.prompts, destination.limits)
    return problems or _find_unknown_tools(context, bundle)


def _find_unknown_tools(context: Context, bundle: Bundle) -> tuple[str, ...]:
    """Name the tools in valid policies and steps that this workspace does not have."""
    operations, rules = context.parts.operations(), install_target_of(context).rules()
    agent, problems = bundle.manifest.agent, []
    try:
        check_tool_names(operations, AgentConfig(agent.slug, agent.agent_config).tool_policy)
    except Invalid as error:
        problems.append(f"{MANIFEST}: {error}")
    for slug in sorted(bundle.pipelines):
        try:
            check_workflow_names(operations, *build_definitions(bundle, slug, rules))
        except Invalid as error:
            problems.append(f"pipelines/{slug}.json: {error}")
    return tuple(problems)


def require_bundle_fits(context: Context, bundle: Bundle) -> None:
    """Raise `InvalidBundle` with the first reason why the bundle could not run here."""
    for problem in find_misfits(context, bundle):
        path, _, reason = problem.partition(": ")
        raise InvalidBundle(path, reason.rstrip("."))


def may_read_user_page(context: Context, record: AgentRecord) -> bool:
    """Return whether the principal may read the USER.md of an agent's owner."""
    principal = context.principal
    is_own = principal.is_local or principal.user_id == record.owner
    return is_own or principal.can("manage_options")
