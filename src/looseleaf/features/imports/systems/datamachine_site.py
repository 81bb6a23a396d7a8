"""Data Machine on a running site, over its REST interface: every agent that the user may see.

Requests go through the client for other servers, with its allow-list and limits. The site is one
of the setting `wordpress_sites`, which has its user and password. Nothing is changed there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.agents.record import find_slug_problem
from looseleaf.errors import Invalid
from looseleaf.errors.features import InvalidImport, RequestFailed, RequestRefused
from looseleaf.features.bundles.datamachine import (
    UPLOADS_LEFT_OUT,
    PipelineReader,
    SourceSite,
    as_list,
    as_object,
    read_id,
)
from looseleaf.features.bundles.source_tree import (
    NotImported,
    SourceContent,
    SourcePage,
    SourcePipeline,
)
from looseleaf.features.workflows.definitions import pause
from looseleaf.features.workflows.documents import read_pipeline_file
from looseleaf.features.workflows.steps.publish import build_request, read_answer
from looseleaf.memory.day import FOLDER, parse_date
from looseleaf.memory.scope import LAYERS
from looseleaf.values import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from looseleaf.allow_list import IncomingResponse, OutgoingRequest
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.settings import WordPressSite

    Send = Callable[[OutgoingRequest], IncomingResponse]


# Requests to one site, in a bounded number, each answered by a JSON object.


MOST_REQUESTS = 20_000


class SiteConnection:
    """Asks one site, with its user and password."""

    def __init__(
        self, send: Send, site: WordPressSite, *, request_limit: int = MOST_REQUESTS
    ) -> None:
        self._send, self.site, self._request_limit = send, site, request_limit
        self._count = 0

    def ask(self, path: str, *, method: str = "GET", body: bytes = b"") -> dict[str, Any]:
        """Request a document, or raise `RequestFailed` or `RequestRefused`."""
        self._count += 1
        if self._count > self._request_limit:
            raise InvalidImport(
                f"{self.site.url} has more than {self._request_limit:,} pages. Import its "
                "datamachine-files folder instead."
            )
        request = build_request(self.site, path, method=method, body=body)
        document = read_answer(self.site, self._send(request), (200,))
        if not isinstance(document, dict):
            raise self.failure()
        return document

    def failure(self) -> RequestFailed:
        """Build the error for an answer that is not that of Data Machine."""
        return RequestFailed(self.site.url, "its answer is not that of Data Machine")


# The pipelines of a running site with their flows: of Data Machine, or of another Looseleaf.


MOST_PIPELINES = 1_000
_PIPELINES = "/wp-json/datamachine/v1/pipelines"
_FLOWS = "/wp-json/datamachine/v1/flows"
_UPLOADS = "/wp-json/datamachine/v1/files"
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
    files = _UploadedFiles(connection, left_out)
    pipelines: list[SourcePipeline] = []
    for entry in entries:
        agent = agents.get(read_id(entry.get("agent_id")), "")
        try:
            if isinstance(entry.get("steps"), list):
                exported = _read_exported(connection, entry, agent)
                pipelines.append(exported)
                files.note_exported(exported)
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
        for flow in map(as_object, as_list(data.get("flows"))):
            files.note_flow(read_id(entry.get("pipeline_id")), flow)
    if len(entries) >= MOST_PIPELINES:
        left_out.append(NotImported("pipelines", f"there may be more than {MOST_PIPELINES:,}"))
    return pipelines


class _UploadedFiles:
    """Names the uploaded files of pipelines and flows, which a site does not give over REST."""

    def __init__(self, connection: SiteConnection, left_out: list[NotImported]) -> None:
        self._connection, self._left_out, self._is_refused = connection, left_out, False

    def note_exported(self, source: SourcePipeline) -> None:
        """Name the context files of a pipeline of another Looseleaf, and the files of its flows."""
        place = f"pipeline {source.pipeline.id}"
        self._note(place, "context file", f"pipeline_id={source.pipeline.id}")
        for flow in source.flows:
            self._note(f"{place}, flow {flow.id}", "flow file", f"flow_id={flow.id}")

    def note_flow(self, pipeline_id: int, flow: Mapping[str, Any]) -> None:
        """Name the files of a flow of Data Machine; all of its steps have the same ones."""
        config = as_object(flow.get("flow_config"))
        steps = [name for name, step in config.items() if "step_type" in as_object(step)]
        place = f"pipeline {pipeline_id}, flow {read_id(flow.get('flow_id'))}"
        if steps:
            self._note(place, "flow file", f"flow_step_id={quote(steps[0], safe='')}")

    def _note(self, place: str, kind: str, query: str) -> None:
        if self._is_refused:
            return
        try:
            entries = as_list(self._connection.ask(f"{_UPLOADS}?{query}").get("data"))
        except RequestRefused as error:
            self._is_refused = True  # one remark for all of them
            reason = f"the site does not list them: {error}"
            self._left_out.append(NotImported("uploaded files of pipelines and flows", reason))
            return
        for entry in map(as_object, entries):
            source = f"{place}: {kind} {entry.get('filename')}"
            self._left_out.append(NotImported(source, UPLOADS_LEFT_OUT))


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


KIND, TITLE = "datamachine-site", "Data Machine site"
MOST_AGENTS = 500
_API = "/wp-json/datamachine/v1"
_FILES = f"{_API}/files/agent"
_ABILITIES = "/wp-json/wp-abilities/v1/abilities/datamachine"
_DAYS = f"{_ABILITIES}/daily-memory-list/run"
_MEMORY = f"{_ABILITIES}/get-agent-memory/run"
_CHANGED_TEXT = (
    "the site sent it as HTML, which changes the signs &, < and >; its datamachine-files folder "
    "has every character"
)


@value
class _SourceAgent:
    """An agent of the site: its id there, 0 for that of the user, and its slug."""

    id: int
    slug: str

    @property
    def query(self) -> str:
        """The end of an address that chooses the agent."""
        return f"?agent_id={self.id}" if self.id else ""

    @property
    def input(self) -> dict[str, int]:
        """The field of an ability that chooses the agent."""
        return {"agent_id": self.id} if self.id else {}


def read_site(send: Send, site: WordPressSite, registry: FileRegistry) -> SourceContent:
    """Read the pages, journals and pipelines of all agents that the user of a site may see."""
    connection = SiteConnection(send, site)
    left_out: list[NotImported] = []
    agents = _list_agents(connection, left_out)
    pages: dict[tuple[str, str, str], SourcePage] = {}
    for agent in agents:
        for page in _read_agent(connection, agent, left_out):
            pages.setdefault((page.layer, page.agent, page.filename), page)
    slugs = {agent.id: agent.slug for agent in agents}
    pipelines = read_pipelines(connection, registry, slugs, left_out)
    left_out.append(NotImported("chats", "conversations are no memory, and stay on the site"))
    return SourceContent(tuple(pages.values()), tuple(left_out), tuple(pipelines))


def _list_agents(connection: SiteConnection, left_out: list[NotImported]) -> list[_SourceAgent]:
    """List the agents that the user may see; a site without a list has the user's own agent."""
    for query in ("?scope=all", ""):
        try:
            document = connection.ask(f"{_API}/agents{query}")
        except RequestRefused:
            continue
        if not isinstance(document.get("data"), list):
            raise connection.failure()
        agents = []
        for entry in map(as_object, document["data"][:MOST_AGENTS]):
            number, slug = read_id(entry.get("agent_id")), entry.get("agent_slug")
            if number and isinstance(slug, str) and not find_slug_problem(slug):
                agents.append(_SourceAgent(number, slug))
            else:
                left_out.append(NotImported(f"agent {slug}", "no agent can have this name here"))
        if len(document["data"]) > MOST_AGENTS:
            left_out.append(NotImported("agents", f"there are more than {MOST_AGENTS}"))
        return agents
    reason = "the site does not list them; only the agent of its user is read"
    left_out.append(NotImported("other agents", reason))
    return [_SourceAgent(0, "")]


def _read_agent(
    connection: SiteConnection, agent: _SourceAgent, left_out: list[NotImported]
) -> list[SourcePage]:
    """Read the pages and the journal of one agent; an agent that is only listed is left out."""
    try:
        return [
            *_read_pages(connection, agent, left_out),
            *_read_days(connection, agent, left_out),
        ]
    except RequestRefused as error:
        if not agent.id:
            raise
        left_out.append(NotImported(f"agent {agent.slug}", f"the site refuses to show it: {error}"))
        return []


def _read_pages(
    connection: SiteConnection, agent: _SourceAgent, left_out: list[NotImported]
) -> Iterator[SourcePage]:
    entries = connection.ask(_FILES + agent.query).get("data")
    if not isinstance(entries, list):
        raise connection.failure()
    for entry in map(as_object, entries):
        filename, layer = entry.get("filename"), entry.get("layer")
        if entry.get("type") == "daily_summary":
            continue  # the days are read one by one
        source = _name_source(agent, str(filename))
        if not isinstance(filename, str) or layer not in LAYERS:
            left_out.append(NotImported(source, f"its layer is {layer!r}, which is not known"))
            continue
        text, note = _read_text(connection, agent, filename)
        if text is None:
            left_out.append(NotImported(source, "the site gives no text for it"))
        else:
            owner = agent.slug if layer in ("agent", "principal") else ""
            yield SourcePage(
                filename=filename, text=text, sources=(source,), layer=layer, agent=owner, note=note
            )


def _read_text(
    connection: SiteConnection, agent: _SourceAgent, filename: str
) -> tuple[str | None, str]:
    """Read a page; return also a remark if the site has changed its text on the way.

    The route of files gives a text as HTML and the size of the file; if these differ, an
    ability has the text itself.
    """
    try:
        document = connection.ask(f"{_FILES}/{quote(filename)}{agent.query}")
    except RequestRefused:
        return None, ""
    fields = as_object(document.get("data"))
    text, size = fields.get("content"), fields.get("size")
    if not isinstance(text, str):
        return None, ""
    if not isinstance(size, int) or size == len(text.encode(errors="replace")):
        return text, ""
    body = json.dumps({"input": {"file": filename, **agent.input}}).encode()
    try:
        original = connection.ask(_MEMORY, method="POST", body=body).get("content")
    except RequestRefused:
        return text, _CHANGED_TEXT
    return (original, "") if isinstance(original, str) else (text, _CHANGED_TEXT)


def _read_days(
    connection: SiteConnection, agent: _SourceAgent, left_out: list[NotImported]
) -> Iterator[SourcePage]:
    for month, number in _list_days(connection, agent):
        day = parse_date(f"{month}/{number}".replace("/", "-"))
        path = f"{FOLDER}/{month}/{number}"
        source = _name_source(agent, path)
        if day is None:
            left_out.append(NotImported(source, "there is no such day"))
            continue
        try:
            document = connection.ask(f"{_FILES}/{path}{agent.query}")
        except RequestRefused:
            document = {}
        text = as_object(document.get("data")).get("content")
        if isinstance(text, str):
            yield SourcePage(filename=day.filename, text=text, sources=(source,), agent=agent.slug)
        else:
            left_out.append(NotImported(source, "the site gives no text for it"))


def _list_days(connection: SiteConnection, agent: _SourceAgent) -> list[tuple[str, Any]]:
    body = json.dumps({"input": agent.input}).encode()
    document = connection.ask(_DAYS, method="POST", body=body)
    months = as_object(document.get("months", document))
    return [(month, day) for month in sorted(months) for day in as_list(months[month])]


def _name_source(agent: _SourceAgent, name: str) -> str:
    return f"{agent.slug}: {name}" if agent.slug else name
