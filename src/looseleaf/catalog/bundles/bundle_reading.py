"""A bundle as operations take it, and every reason why this workspace could not install it."""

from __future__ import annotations

from looseleaf.agents.config import AgentConfig
from looseleaf.bundles.importers.datamachine.bundle_workflows import translate_workflows
from looseleaf.bundles.inspection import find_problems
from looseleaf.bundles.layout.archive import MANIFEST, unpack_files
from looseleaf.bundles.layout.bundle import check_amount, parse_bundle
from looseleaf.bundles.layout.bundle_document import is_document, parse_document
from looseleaf.bundles.layout.workflow_definitions import build_definitions
from looseleaf.catalog.bundles.bundle_destination import install_target_of
from looseleaf.catalog.encoded_data import decode_data
from looseleaf.catalog.tools.names import check_tool_names
from looseleaf.catalog.workflows.workflow_tools import check_workflow_names
from looseleaf.errors import Invalid
from looseleaf.errors.bundles import InvalidBundle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.layout.bundle import Bundle
    from looseleaf.catalog.context import Context


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
