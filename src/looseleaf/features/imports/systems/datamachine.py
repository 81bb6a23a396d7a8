"""Data Machine: a `datamachine-files` folder of a WordPress site, or another Looseleaf workspace.

Its layers are ours: `shared/`, `agents/{slug}/`, `users/{id}/` and `network/`. Older sites keep one
agent in `agent/`, with USER.md among its pages.
"""

from __future__ import annotations

import re

from looseleaf.features.bundles.source_tree import SourceContent, SourcePage, SourceUpload
from looseleaf.features.imports.systems.shared_layout import NOT_IN_PROMPTS, is_page
from looseleaf.memory.scope import is_of_principal
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.features.bundles.source_tree import SourceFolder
    from looseleaf.memory.scope import Layer

USER_PAGE = "USER.md"
_CORE = ("SOUL.md", "MEMORY.md", USER_PAGE)
# Pages that the plugin gives to every prompt, and that are generated here, or there every hour.
_GIVEN_BY_PLUGIN = ("AGENTS.md", "NETWORK.md", "WAKE.md")
_SILENCE = "index.php"  # a file without meaning that keeps a web server from listing a folder
_RECORD = "agent.json"
_JOBS = "it holds the data of jobs that have run, which is no memory"
_NO_PLACE = "it belongs to no pipeline or flow"
_PIPELINE = re.compile(r"pipeline-([1-9]\d{0,14})")
_FLOW = re.compile(r"flow-([1-9]\d{0,14})")


def detect(folder: SourceFolder) -> str:
    """Name the files by which a folder of Data Machine is recognized."""
    agents = [
        f"{agent}/{name}"
        for agent in folder.folders("agents")
        for name in _CORE
        if folder.has_file(f"{agent}/{name}")
    ]
    if agents:
        return agents[0]
    if folder.has_folder("agent") and folder.has_file("agent/SOUL.md"):
        return "agent/SOUL.md"
    shared_names = [name for name in ("SITE.md", "RULES.md") if folder.has_file(f"shared/{name}")]
    return f"shared/{shared_names[0]}" if shared_names else ""


def read(folder: SourceFolder) -> SourceContent:
    """Read the pages of every layer; the names of agents and users stay those of the source."""
    pages: list[SourcePage] = []
    for layer, path in (("shared", "shared"), ("network", "network")):
        pages += _read_layer(folder, path, layer)  # type: ignore[arg-type]
    for agent in folder.folders("agents"):
        pages += _read_layer(folder, agent, "agent", agent=agent.partition("/")[2])
    for user in folder.folders("users"):
        number = user.partition("/")[2]
        if number.isascii() and number.isdigit() and int(number) > 0:
            pages += _read_layer(folder, user, "user", user=int(number))
        else:
            folder.refuse(f"{user}/", "the name of the folder is not the id of a user")
    if folder.has_folder("agent"):
        pages += _read_old_agent(folder)
    uploads = list(_read_uploads(folder))
    _note_other_files(folder)
    return SourceContent(tuple(pages), tuple(folder.refusals), uploads=tuple(uploads))


def _read_layer(
    folder: SourceFolder, path: str, layer: Layer, *, agent: str = "", user: int = 0
) -> Iterator[SourcePage]:
    for file in folder.walk(path):
        filename = file[len(path) + 1 :]
        if not _is_own_page(folder, file, filename) or (text := folder.read(file)) is None:
            continue
        page = SourcePage(
            filename=filename, text=text, sources=(file,), layer=layer, agent=agent, user=user
        )
        if layer == "agent" and is_of_principal(filename):
            _, number, name = filename.split("/", 2)
            page = replace(page, filename=name, layer="principal", user=int(number))
        note = NOT_IN_PROMPTS if page.filename in _GIVEN_BY_PLUGIN else ""
        yield replace(page, note=note)


def _read_old_agent(folder: SourceFolder) -> Iterator[SourcePage]:
    """Read the one agent of an older site."""
    for page in _read_layer(folder, "agent", "agent"):
        layer: Layer = "user" if page.filename == USER_PAGE else "agent"
        yield SourcePage(filename=page.filename, text=page.text, sources=page.sources, layer=layer)


def _read_uploads(folder: SourceFolder) -> Iterator[SourceUpload]:
    """Read the uploaded files of pipelines and flows; their definitions are not in the folder."""
    for pipeline in folder.folders():
        match = _PIPELINE.fullmatch(pipeline)
        if match is None:
            continue
        number = int(match[1])
        _note_files(folder, pipeline)
        for child in folder.folders(pipeline):
            name = child.rpartition("/")[2]
            flow = _FLOW.fullmatch(name)
            if name == "context":
                yield from _read_files(folder, child, number, 0)
            elif flow is not None:
                yield from _read_flow_files(folder, child, number, int(flow[1]))
            else:
                folder.refuse(f"{child}/", _NO_PLACE)


def _read_flow_files(
    folder: SourceFolder, path: str, pipeline: int, flow: int
) -> Iterator[SourceUpload]:
    _note_files(folder, path)
    for child in folder.folders(path):
        name = child.rpartition("/")[2]
        if name == f"flow-{flow}-files":
            yield from _read_files(folder, child, pipeline, flow)
        else:
            folder.refuse(f"{child}/", _JOBS if name == "jobs" else _NO_PLACE)


def _read_files(
    folder: SourceFolder, path: str, pipeline: int, flow: int
) -> Iterator[SourceUpload]:
    for child in folder.folders(path):
        folder.refuse(f"{child}/", "an uploaded file lies in no folder of its own")
    for file in folder.files(path):
        name = file.rpartition("/")[2]
        if name == _SILENCE or (content := folder.read_bytes(file)) is None:
            continue
        yield SourceUpload(pipeline, flow, name, content, file)


def _note_files(folder: SourceFolder, path: str) -> None:
    for file in folder.files(path):
        if file.rpartition("/")[2] != _SILENCE:
            folder.refuse(file, _NO_PLACE)


def _is_own_page(folder: SourceFolder, file: str, filename: str) -> bool:
    name = filename.rpartition("/")[2]
    if name == _SILENCE:
        return False  # it is in every folder and says nothing
    if filename == _RECORD:
        folder.refuse(file, "it is the record of an agent, which is created here anew")
        return False
    return is_page(folder, file)


def _note_other_files(folder: SourceFolder) -> None:
    layers = {"shared", "network", "agents", "users", "agent"}
    for name in folder.folders():
        if name.startswith("."):
            folder.refuse(f"{name}/", "it is a hidden folder")
        elif name in ("data-packets", "pipeline-direct"):
            folder.refuse(f"{name}/", _JOBS)
        elif name not in layers and not _PIPELINE.fullmatch(name):
            folder.refuse(f"{name}/", "it belongs to no layer")
    for name in (*folder.files(), *folder.files("agents"), *folder.files("users")):
        if name.rpartition("/")[2] != _SILENCE:
            folder.refuse(name, "it belongs to no layer")
