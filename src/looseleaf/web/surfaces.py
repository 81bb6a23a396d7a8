"""What the OpenAPI document says of addresses that are no plain table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looseleaf.memory.scope import LAYERS
from looseleaf.operations.schema import MEANING
from looseleaf.web.abilities import ABILITIES, OPERATIONS
from looseleaf.web.endpoints import NAMESPACE
from looseleaf.web.statuses import failures, success

if TYPE_CHECKING:
    from looseleaf.operations.context import Context

    Document = dict[str, Any]

_FILE = f"{NAMESPACE}/files/agent/{{file}}"
_DAY = f"{NAMESPACE}/files/agent/daily/{{year}}/{{month}}/{{day}}"
_PAGE_FAILURES = (406, 412)
_TEXT = {"schema": {"type": "string"}}


def page_paths(_context: Context) -> Document:
    """Describe a page and a day at their own addresses."""
    file = [_named("file", "path", {"type": "string"})]
    day = [
        _named(name, "path", {"type": "string", "pattern": f"^[0-9]{{{size}}}$"})
        for name, size in (("year", 4), ("month", 2), ("day", 2))
    ]
    section = [
        _named("section", "query", {"type": "string"}),
        _named("position", "query", {"type": "integer"}),
    ]
    shrink = [_named("allow_shrink", "query", {"type": "boolean"})]
    return {
        _FILE: _methods("page", file, section, shrink),
        _DAY: _methods("day", day, [], shrink),
    }


def _methods(
    noun: str, place: list[Document], reading: list[Document], writing: list[Document]
) -> Document:
    who = [
        _named("agent", "query", {"type": "string"}),
        _named("agent_id", "query", {"type": "integer"}),
        _named("agent_slug", "query", {"type": "string"}),
        _named("user", "query", {"type": "integer"}),
        _named("user_id", "query", {"type": "integer"}),
        _named("layer", "query", {"type": "string", "enum": list(LAYERS)}),
    ]
    past = [_named("as_of", "query", {"type": "string"})]
    found: Document = {
        "get": {
            "summary": f"Read a {noun}: JSON, or its raw bytes where Accept asks for text.",
            "parameters": [*place, *who, *past, *reading, *CONDITIONS],
            "responses": {
                "200": _page_answer(),
                "304": {"description": "The reader has this version already."},
                **failures("GET", *_PAGE_FAILURES),
            },
        },
        "delete": {
            "summary": f"Delete a {noun}; its text stays in the history.",
            "parameters": [*place, *who, *CONDITIONS],
            "responses": {"200": success(), **failures("DELETE", 412)},
        },
    }
    for method in ("put", "post", "patch"):
        found[method] = {
            "summary": f"Replace or create a {noun}, by the raw body or by JSON.",
            "parameters": [*place, *who, *writing, *CONDITIONS],
            "requestBody": _CONTENT,
            "responses": {
                "200": success("The page was replaced or created, or said so already."),
                **failures("PUT", 412),
            },
        }
    for method, described in found.items():
        described |= {"operationId": f"{method}-{noun}", "tags": ["files"]}
    return found


def _named(name: str, place: str, wanted: Document) -> Document:
    described = {"name": name, "in": place, "required": place == "path", "schema": wanted}
    return described | ({"description": MEANING[name]} if name in MEANING else {})


CONDITIONS = [
    {
        "name": name,
        "in": "header",
        "description": told,
        "schema": {"type": "string", "pattern": r'^(\*|(W/)?"[!#-~]*")$'},
    }
    for name, told in (
        ("If-Match", "Only if the page is this version (its ETag); * is any."),
        ("If-None-Match", "Only if the page is not this version; * is only if there is none."),
    )
]
_CONTENT: Document = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {"content": {"type": "string"}},
                "required": ["content"],
            }
        },
        "text/markdown": {"schema": {"type": "string", "minLength": 1}},
        "text/plain": {"schema": {"type": "string", "minLength": 1}},
    },
}


def _page_answer() -> Document:
    answer = success("The page, with its version as ETag.")
    answer["content"] |= {"text/markdown": _TEXT, "text/plain": _TEXT}
    answer["headers"] = {"ETag": {"description": "The version.", "schema": {"type": "string"}}}
    return answer


def own_paths() -> Document:
    """Describe what is about the server itself."""
    public: Document = {"security": []}
    name = [_named("name", "path", {"type": "string"})]
    health: Document = {
        str(status): {
            "description": told,
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
        for status, told in ((200, "All is well."), (503, "Degraded; it says why."))
    }
    sign_in = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("link", "login", "password")},
        "additionalProperties": False,
    }
    return {
        ABILITIES: {"get": _listed()},
        f"{ABILITIES}/{{name}}": {"get": _described_ability(name)},
        OPERATIONS: {"get": _own("List every operation, in our own envelope.", "GET")},
        f"{OPERATIONS}/{{name}}": {
            "get": _own("Describe one operation, in our own envelope.", "GET", parameters=name),
            "post": _own(
                "Run any operation; its whole result in our own envelope.",
                "POST",
                parameters=name,
                requestBody={"content": {"application/json": {"schema": {"type": "object"}}}},
            ),
        },
        "/session": {"get": _own("Say who one is here.", "GET")},
        "/login": {
            "post": _own(
                "Begin a session by a one-time link, or by login and password.",
                "POST",
                requestBody={
                    "required": True,
                    "content": {"application/json": {"schema": sign_in}},
                },
            )
            | public
        },
        "/logout": {"post": _own("End the session.", "POST")},
        "/health": {
            "get": {"summary": "Is all well?", "tags": ["server"], "responses": health} | public
        },
        "/metrics": {
            "get": {
                "summary": "Figures for Prometheus; it takes view_logs.",
                "tags": ["server"],
                "responses": {
                    "200": {"description": "Text.", "content": {"text/plain": _TEXT}},
                    **failures("GET"),
                },
            }
        },
    }


def _listed() -> Document:
    listed = success("An array, as WordPress gives it.", {"type": "array"})
    return _own("List every operation with its schemas.", "GET") | {
        "responses": {"200": listed, **failures("GET")}
    }


def _described_ability(name: list[Document]) -> Document:
    described = success("An object, as WordPress gives it.", {"type": "object"})
    return _own("Describe one operation.", "GET", parameters=name) | {
        "responses": {"200": described, **failures("GET")}
    }


def _own(summary: str, method: str, **more: Any) -> Document:  # noqa: ANN401 - parts of the document
    responses = {"200": success(), **failures(method)}
    return {"summary": summary, "tags": ["server"], "responses": responses, **more}
