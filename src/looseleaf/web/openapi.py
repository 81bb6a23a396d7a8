"""The OpenAPI document, derived from the catalog and the table of endpoints."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from looseleaf.operations import run
from looseleaf.operations.schema import MEANING
from looseleaf.web.abilities import ABILITIES, all_operations, output_schema
from looseleaf.web.arguments import accepted_schema
from looseleaf.web.endpoints import ENDPOINTS, NAMESPACE
from looseleaf.web.listing import MOST, PER_PAGE
from looseleaf.web.statuses import failures, success
from looseleaf.web.surfaces import CONDITIONS, own_paths, page_paths

if TYPE_CHECKING:
    from looseleaf.operations.catalog import Operation
    from looseleaf.operations.context import Context
    from looseleaf.web.endpoints import Endpoint

    Document = dict[str, Any]

ABOUT = (
    "Persistent memory for AI agents, kept as Markdown pages. Every path is there a second time "
    "under /wp-json."
)
SECURITY: Document = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A token."},
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "A login and an application password.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "looseleaf_session_8765",
        "description": "A person who signed in; changes also need the header X-CSRF-Token. The "
        "name ends with the port of the server, and begins with __Host- over HTTPS.",
    },
}


def document(context: Context) -> Document:
    """Describe everything that the server answers."""
    paths: Document = {}
    for endpoint in ENDPOINTS:
        operation = run.find(context, endpoint.operation)
        described = _endpoint(endpoint, operation)
        paths.setdefault(NAMESPACE + endpoint.path, {})[endpoint.method.lower()] = described
    for path, methods in {**page_paths(context), **own_paths()}.items():
        paths.setdefault(path, {}).update(methods)
    for operation in all_operations(context):
        paths[f"{ABILITIES}/{operation.name}/run"] = _ability(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Looseleaf", "version": version("looseleaf"), "description": ABOUT},
        "paths": paths,
        "components": {"securitySchemes": SECURITY, "schemas": {"Error": ERROR}},
        "security": [{name: []} for name in SECURITY],
    }


ERROR: Document = {
    "type": "object",
    "required": ["code", "message", "data"],
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "data": {
            "type": "object",
            "required": ["status"],
            "properties": {"status": {"type": "integer"}},
        },
    },
}


def _endpoint(endpoint: Endpoint, operation: Operation) -> Document:
    wanted = accepted_schema(operation)
    more = (502,) if operation.permission == "chat" else ()
    in_path = {part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")}
    fixed = {name for name, _ in endpoint.fixed}
    rest = {
        name: one
        for name, one in wanted["properties"].items()
        if name not in in_path and name not in fixed
    }
    needed = [name for name in wanted["required"] if name in rest]
    parameters = [_parameter(name, {"type": "string"}, "path", needed=True) for name in in_path]
    described: Document = {
        "operationId": _identity(endpoint.method, endpoint.path),
        "summary": operation.summary,
        "description": f"The operation `{operation.name}`; it takes `{operation.permission}`.",
        "tags": [endpoint.path.split("/")[1]],
        "responses": {str(endpoint.status): success(), **failures(endpoint.method, *more)},
    }
    if endpoint.method in ("GET", "DELETE"):
        parameters += [
            _parameter(name, one, "query", needed=name in needed) for name, one in rest.items()
        ]
        if endpoint.method == "GET":
            parameters += _PARTS
    else:
        described["requestBody"] = body(rest, needed)
        if endpoint.whole_body:
            whole = {"type": "object"}
            described["requestBody"]["content"] = {"application/json": {"schema": whole}}
    if operation.versioned:
        parameters += CONDITIONS
    return described | {"parameters": parameters}


def _identity(method: str, path: str) -> str:
    words = path.replace("{", "by-").replace("}", "").strip("/").replace("/", "-")
    return f"{method.lower()}-{words}"


_PARTS: list[Document] = [
    {
        "name": "page",
        "in": "query",
        "description": "Which part of a list.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 10**9, "default": 1},
    },
    {
        "name": "per_page",
        "in": "query",
        "description": "How long a part of a list is.",
        "schema": {"type": "integer", "minimum": 1, "maximum": MOST, "default": PER_PAGE},
    },
]


def _parameter(name: str, wanted: Document, place: str, *, needed: bool) -> Document:
    if "anyOf" in wanted:  # a query has no null: what is not said is null
        some = [one for one in wanted["anyOf"] if one.get("type") != "null"]
        wanted = some[0] if len(some) == 1 else {**wanted, "anyOf": some}
    told = {key: one for key, one in wanted.items() if key != "description"}
    return {
        "name": name,
        "in": place,
        "required": needed,
        "description": MEANING.get(name, ""),
        "schema": told,
    }


def body(properties: Document, needed: list[str], either: list[Document] | None = None) -> Document:
    """Describe a JSON body; `either` are arguments that may be given under several names."""
    wanted = {
        "type": "object",
        "properties": properties,
        "required": needed,
        "additionalProperties": False,
    }
    if either:
        wanted["allOf"] = either
    return {"required": bool(needed or either), "content": {"application/json": {"schema": wanted}}}


def _ability(operation: Operation) -> Document:
    wanted = accepted_schema(operation)
    more = (502,) if operation.permission == "chat" else ()
    described: Document = {
        "operationId": f"run-{operation.name.replace('/', '-')}",
        "summary": operation.summary,
        "description": f"It takes `{operation.permission}`.",
        "tags": ["abilities"],
        "requestBody": body(wanted["properties"], wanted["required"], wanted.get("allOf", [])),
        "responses": {
            "200": success(schema=output_schema(operation)),
            **failures("POST", *more),
        },
    }
    if operation.versioned:
        described["parameters"] = CONDITIONS
    return {"post": described}
