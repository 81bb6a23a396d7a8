"""The OpenAPI description of the addresses outside the table of endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looseleaf.catalog.resolution import find_operation
from looseleaf.memory.scope import LAYERS
from looseleaf.web.rest.abilities import ABILITIES, OPERATIONS
from looseleaf.web.rest.answer_schemas import (
    build_change_schema,
    build_page_schema,
    list_of,
    object_of,
)
from looseleaf.web.rest.arguments import build_accepted_schema
from looseleaf.web.rest.endpoints import DAY, NAMESPACE
from looseleaf.web.rest.pages import DELETE, DELETE_DAY, READ, READ_DAY, WRITE, WRITE_DAY
from looseleaf.web.rest.statuses import describe_failures, describe_success

if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.plugins.endpoints import Endpoint

    Document = dict[str, Any]

_FILE = f"{NAMESPACE}/files/agent/{{file}}"
_PAGE_FAILURES = (406, 412)
_TEXT = {"schema": {"type": "string"}}
_PUBLIC: dict[str, list[str]] = {"security": []}


def describe_page_paths(context: Context) -> Document:
    """Describe a page and a day at their own addresses."""
    parts = (("year", 4), ("month", 2), ("day", 2))
    day = [
        _describe_parameter(
            name, "path", {"type": "string", "pattern": f"^[0-9]{{{size}}}$"}, f"The {name}."
        )
        for name, size in parts
    ]
    names = ("section", "position")
    page = _PagePaths(context, "page", (READ, WRITE, DELETE))
    file = [page.describe_parameter(READ, "file", "path", {"type": "string"})]
    section = [
        page.describe_parameter(READ, name, "query", {"type": kind})
        for name, kind in zip(names, ("string", "integer"), strict=True)
    ]
    return {
        _FILE: page.methods(file, section),
        DAY: _PagePaths(context, "day", (READ_DAY, WRITE_DAY, DELETE_DAY)).methods(day, []),
    }


class _PagePaths:
    """The methods of a page or a day; each parameter has the text of its operation."""

    def __init__(self, context: Context, noun: str, names: tuple[str, str, str]) -> None:
        self._noun = noun
        self._read_name, self._write_name, self._delete_name = names
        self._operations = {name: find_operation(context, name) for name in names}

    def describe_parameter(
        self, operation: str, name: str, place: str, shape: Document
    ) -> Document:
        """Describe a parameter by its text in an operation."""
        property_schema = build_accepted_schema(self._operations[operation])["properties"][name]
        return _describe_parameter(name, place, shape, property_schema["description"])

    def _describe_owner(self, operation: str) -> list[Document]:
        kinds: Document = {
            "agent": {"type": "string"},
            "agent_id": {"type": "integer"},
            "agent_slug": {"type": "string"},
            "user": {"type": "integer"},
            "user_id": {"type": "integer"},
            "layer": {"type": "string", "enum": list(LAYERS)},
        }
        return [
            self.describe_parameter(operation, name, "query", kind) for name, kind in kinds.items()
        ]

    def methods(self, place: list[Document], read_parameters: list[Document]) -> Document:
        """Describe the methods of the address."""
        noun = self._noun
        past = self.describe_parameter(self._read_name, "as_of", "query", {"type": "string"})
        shrink = self.describe_parameter(
            self._write_name, "allow_shrink", "query", {"type": "boolean"}
        )
        methods: Document = {
            "get": {
                "summary": f"Read a {noun}: JSON, or its raw bytes where Accept asks for text.",
                "parameters": [
                    *place,
                    *self._describe_owner(self._read_name),
                    past,
                    *read_parameters,
                    *CONDITIONS,
                ],
                "responses": {
                    "200": _describe_page_answer(
                        build_page_schema(self._operations[self._read_name])
                    ),
                    "304": {"description": "The reader has this version already."},
                    **describe_failures("GET", *_PAGE_FAILURES),
                },
            },
            "delete": {
                "summary": f"Delete a {noun}; its text stays in the history.",
                "parameters": [*place, *self._describe_owner(self._delete_name), *CONDITIONS],
                "responses": {
                    "200": describe_success(
                        schema=build_change_schema(self._operations[self._delete_name])
                    ),
                    **describe_failures("DELETE", 412),
                },
            },
        }
        for method in ("put", "post", "patch"):
            methods[method] = {
                "summary": f"Replace or create a {noun}, by the raw body or by JSON.",
                "parameters": [
                    *place,
                    *self._describe_owner(self._write_name),
                    shrink,
                    *CONDITIONS,
                ],
                "requestBody": _CONTENT,
                "responses": {
                    "200": describe_success(
                        "The page was replaced or created, or had this text already.",
                        build_change_schema(self._operations[self._write_name]),
                    ),
                    **describe_failures("PUT", 412),
                },
            }
        for method, description in methods.items():
            description |= {"operationId": f"{method}-{noun}", "tags": ["files"]}
        return methods


def _describe_parameter(name: str, place: str, shape: Document, text: str) -> Document:
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": text,
        "schema": shape,
    }


CONDITIONS = [
    {
        "name": name,
        "in": "header",
        "description": text,
        "schema": {"type": "string", "pattern": r'^(\*|(W/)?"[!#-~]*")$'},
    }
    for name, text in (
        ("If-Match", "Only if the page is this version (its ETag); * is any version."),
        ("If-None-Match", "Only if the page is not this version; * is only if there is no page."),
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


def _describe_page_answer(schema: Document) -> Document:
    answer = describe_success("The page, with its version as ETag.", schema)
    answer["content"] |= {"text/markdown": _TEXT, "text/plain": _TEXT}
    answer["headers"] = {"ETag": {"description": "The version.", "schema": {"type": "string"}}}
    return answer


def describe_handler(endpoint: Endpoint) -> Document:
    """Describe an address whose handler runs no operation."""
    parts: Document = {}
    if endpoint.parameters:
        parts["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in endpoint.parameters
        ]
    if endpoint.method not in ("GET", "DELETE"):
        schemas = {"application/json": {"type": "object"}, **endpoint.body_types}
        content = {media_type: {"schema": schema} for media_type, schema in schemas.items()}
        parts["requestBody"] = {"content": content}
    description = _describe_server_path(endpoint.summary, endpoint.method, **parts)
    return description | _PUBLIC if endpoint.is_public else description


def describe_server_paths() -> Document:
    """Describe the addresses of operations by name, of the sign-in and of the server itself."""
    name = [_describe_parameter("name", "path", {"type": "string"}, "The name of the operation.")]
    health: Document = {
        str(status): {
            "description": text,
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
        for status, text in ((200, "Healthy."), (503, "Degraded, with the problems."))
    }
    sign_in = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("link", "login", "password")},
        "additionalProperties": False,
    }
    return {
        ABILITIES: {"get": _describe_ability_list()},
        f"{ABILITIES}/{{name}}": {"get": _describe_ability(name)},
        OPERATIONS: {
            "get": _describe_server_path("List every operation, in our own envelope.", "GET")
        },
        f"{OPERATIONS}/{{name}}": {
            "get": _describe_server_path(
                "Describe one operation, in our own envelope.", "GET", parameters=name
            ),
            "post": _describe_server_path(
                "Run any operation; its whole result in our own envelope.",
                "POST",
                parameters=name,
                requestBody={"content": {"application/json": {"schema": {"type": "object"}}}},
            ),
        },
        "/session": {"get": _describe_server_path("Show the principal of the request.", "GET")},
        "/login": {
            "post": _describe_server_path(
                "Begin a session by a one-time link, or by login and password.",
                "POST",
                requestBody={
                    "required": True,
                    "content": {"application/json": {"schema": sign_in}},
                },
            )
            | _PUBLIC
        },
        "/logout": {"post": _describe_server_path("End the session.", "POST")},
        "/health": {
            "get": {
                "summary": "Show the health of the server.",
                "tags": ["server"],
                "responses": health,
            }
            | _PUBLIC
        },
        "/metrics": {
            "get": {
                "summary": "Figures for Prometheus; requires the capability view_logs.",
                "tags": ["server"],
                "responses": {
                    "200": {"description": "Text.", "content": {"text/plain": _TEXT}},
                    **describe_failures("GET"),
                },
            }
        },
    }


_TEXT_FIELD, _OBJECT_FIELD = {"type": "string"}, {"type": "object"}
_ABILITY: Document = {"title": "Ability"} | object_of(
    {
        "name": _TEXT_FIELD,
        "label": _TEXT_FIELD,
        "description": _TEXT_FIELD,
        "category": _TEXT_FIELD,
        "input_schema": _OBJECT_FIELD,
        "output_schema": _OBJECT_FIELD,
        "meta": _OBJECT_FIELD,
    }
)


def _describe_ability_list() -> Document:
    answer = describe_success("An array, as WordPress gives it.", list_of(_ABILITY))
    return _describe_server_path("List every operation with its schemas.", "GET") | {
        "responses": {"200": answer, **describe_failures("GET")}
    }


def _describe_ability(name: list[Document]) -> Document:
    answer = describe_success("An object, as WordPress gives it.", _ABILITY)
    return _describe_server_path("Describe one operation.", "GET", parameters=name) | {
        "responses": {"200": answer, **describe_failures("GET")}
    }


def _describe_server_path(summary: str, method: str, **parts: Any) -> Document:  # noqa: ANN401 - parts of the document
    responses = {"200": describe_success(), **describe_failures(method)}
    return {"summary": summary, "tags": ["server"], "responses": responses, **parts}
