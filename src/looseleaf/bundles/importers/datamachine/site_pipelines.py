"""The pipelines of a running site with their flows: of Data Machine, or of another Looseleaf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.bundles.importers.contract import SourcePipeline
from looseleaf.bundles.importers.datamachine.fields import as_list, as_object, read_id
from looseleaf.bundles.importers.datamachine.pipelines import PipelineReader, SourceSite
from looseleaf.bundles.importers.left_out import NotImported
from looseleaf.errors import Invalid
from looseleaf.errors.workflows import RequestRefused
from looseleaf.values import replace
from looseleaf.workflows.documents import read_pipeline_file
from looseleaf.workflows.flow import pause

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from looseleaf.bundles.importers.datamachine.site_connection import SiteConnection
    from looseleaf.memory.registry import FileRegistry

MOST_PIPELINES = 1_000
_PIPELINES = "/wp-json/datamachine/v1/pipelines"
_FLOWS = "/wp-json/datamachine/v1/flows"
_PAGE_SIZE = 100


def read_pipelines(
    connection: SiteConnection,
    registry: FileRegistry,
    agents: Mapping[int, str],
    left_out: list[NotImported],
) -> list[SourcePipeline]:
    """Read the pipelines that the user of a site may see; `agents` are the slugs of its agents."""
    try:
        entries = list(_list_pipelines(connection))
    except RequestRefused as error:
        left_out.append(NotImported("pipelines and flows", f"the site does not list them: {error}"))
        return []
    reader = PipelineReader(SourceSite(connection.site.name, registry), left_out)
    pipelines: list[SourcePipeline] = []
    for entry in entries:
        agent = agents.get(read_id(entry.get("agent_id")), "")
        try:
            if isinstance(entry.get("steps"), list):
                pipelines.append(_read_exported(connection, entry, agent))
                continue
            document = connection.ask(f"{_PIPELINES}/{read_id(entry.get('pipeline_id'))}")
        except (RequestRefused, Invalid) as error:
            source = f"pipeline {entry.get('pipeline_id')}"
            left_out.append(NotImported(source, str(error)))
            continue
        data = as_object(document.get("data"))
        slugs = [source.pipeline.slug for source in pipelines if source.agent == agent]
        pipeline = reader.read_pipeline(
            as_object(data.get("pipeline")), as_list(data.get("flows")), agent, slugs
        )
        pipelines += [pipeline] if pipeline is not None else []
    if len(entries) >= MOST_PIPELINES:
        left_out.append(NotImported("pipelines", f"there may be more than {MOST_PIPELINES:,}"))
    return pipelines


def _list_pipelines(connection: SiteConnection) -> Iterator[dict[str, Any]]:
    """List the pipelines page by page, each once; older sites give all of them at once."""
    ids: set[int] = set()
    for offset in range(0, MOST_PIPELINES, _PAGE_SIZE):
        data = _ask_page(connection, offset).get("data")
        entries = as_list(data if isinstance(data, list) else as_object(data).get("pipelines"))
        if not isinstance(data, list | dict):
            raise connection.failure()
        new_entries = [
            entry
            for entry in map(as_object, entries)
            if read_id(entry.get("pipeline_id")) not in ids
        ]
        ids.update(read_id(entry.get("pipeline_id")) for entry in new_entries)
        yield from new_entries
        if len(entries) < _PAGE_SIZE or not new_entries:
            return


def _ask_page(connection: SiteConnection, offset: int) -> dict[str, Any]:
    """Request a page of the list; a site without paging gives the whole list."""
    try:
        return connection.ask(f"{_PIPELINES}?per_page={_PAGE_SIZE}&offset={offset}")
    except RequestRefused:
        if offset:
            raise
        return connection.ask(_PIPELINES)


def _read_exported(
    connection: SiteConnection, entry: Mapping[str, Any], agent: str
) -> SourcePipeline:
    """Read a pipeline of another Looseleaf, which gives it as one document."""
    pipeline_id = read_id(entry.get("pipeline_id"))
    document = connection.ask(f"{_PIPELINES}/{pipeline_id}/export")
    pipeline, flows = read_pipeline_file(as_object(document.get("data", document)), now=0.0)
    listed_flows = connection.ask(f"{_FLOWS}?pipeline={pipeline_id}").get("data")
    ids = {
        flow.get("slug"): read_id(flow.get("flow_id"))
        for flow in map(as_object, as_list(listed_flows))
    }
    source_flows = tuple(
        replace(pause(flow), id=ids[flow.slug]) for flow in flows if ids.get(flow.slug)
    )
    return SourcePipeline(replace(pipeline, id=pipeline_id), source_flows, agent)
