"""The memory server of the MCP reference servers: a knowledge graph in a file of JSON lines.

Each type of entity becomes a page below `knowledge/`, each entity a section of it, with its
observations and its relations as bullets. Entities without a type are on the page `entities`.
"""

from __future__ import annotations

import re

from looseleaf.errors import LooseleafError
from looseleaf.features.bundles.source_tree import SourceContent, SourcePage
from looseleaf.features.imports.systems.shared_layout import (
    NO_MEMORY,
    NOT_IN_PROMPTS,
    read_json_lines,
)
from looseleaf.memory.sections import append_to_section
from looseleaf.memory.templates import as_one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.features.bundles.source_tree import SourceFolder

_FILES = ("memory.jsonl", "memory.json")
_MOST_SAMPLES = 20
_LONGEST_NAME = 60


def detect(folder: SourceFolder) -> str:
    """Name the file of a knowledge graph."""
    for file in (folder.single,) if folder.single else _FILES:
        if folder.has_file(file) and file.endswith((".jsonl", ".json")) and _is_graph(folder, file):
            return file
    return ""


def read(folder: SourceFolder) -> SourceContent:
    """Read the entities of the graph, with their observations and relations."""
    file = detect(folder) or folder.single or _FILES[0]
    entities: dict[str, tuple[str, list[str]]] = {}
    relations = []
    for number, record in read_json_lines(folder, file):
        if record.get("type") == "entity" and _is_entity(record):
            _, facts = entities.setdefault(record["name"], (record["entityType"], []))
            facts += [fact for fact in record["observations"] if fact not in facts]
        elif record.get("type") == "relation" and _has_texts(
            record, ("from", "to", "relationType")
        ):
            relations.append((number, record))
        else:
            folder.refuse(f"{file}:{number}", "the line is neither an entity nor a relation")
    for number, record in relations:
        if record["from"] in entities:
            entities[record["from"]][1].append(f"{record['relationType']}: {record['to']}")
        else:
            folder.refuse(f"{file}:{number}", f"there is no entity {record['from']!r}")
    for path in folder.files():
        if path != file:
            folder.refuse(path, NO_MEMORY)
    return SourceContent(tuple(_build_pages(folder, file, entities)), tuple(folder.refusals))


def _build_pages(
    folder: SourceFolder, file: str, entities: dict[str, tuple[str, list[str]]]
) -> list[SourcePage]:
    texts: dict[str, str] = {}
    for name, (kind, facts) in entities.items():
        filename = f"knowledge/{_build_slug(kind)}.md"
        page = texts.setdefault(filename, f"# {as_one_line(kind) or 'Entities'}\n")
        bullets = "\n".join(f"- {as_one_line(fact)}" for fact in facts if fact.strip())
        try:
            texts[filename] = append_to_section(page, as_one_line(name), bullets)
        except LooseleafError as error:
            folder.refuse(f"{file}: {as_one_line(name)}", str(error))
    return [
        SourcePage(filename=filename, text=text, sources=(file,), note=NOT_IN_PROMPTS)
        for filename, text in sorted(texts.items())
    ]


def _is_graph(folder: SourceFolder, file: str) -> bool:
    text = folder.read(file)
    lines = (text or "").lstrip().split("\n", _MOST_SAMPLES)
    return any('"type"' in line and ("entity" in line or "relation" in line) for line in lines)


def _is_entity(record: dict[str, Any]) -> bool:
    facts = record.get("observations")
    has_facts = isinstance(facts, list) and all(isinstance(fact, str) for fact in facts)
    return has_facts and _has_texts(record, ("name",)) and isinstance(record.get("entityType"), str)


def _has_texts(record: dict[str, Any], names: tuple[str, ...]) -> bool:
    return all(isinstance(record.get(name), str) and record[name].strip() for name in names)


def _build_slug(kind: str) -> str:
    words = re.sub(r"[^\w]+", "-", kind.lower()).strip("-_")
    return words[:_LONGEST_NAME].strip("-_") or "entities"
