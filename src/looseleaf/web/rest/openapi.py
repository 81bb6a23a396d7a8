"""The OpenAPI document, derived from the catalog and the table of endpoints."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from looseleaf.catalog.resolution import find_operation
from looseleaf.web.rest.abilities import ABILITIES, operations_of
from looseleaf.web.rest.answer_schemas import build_endpoint_schema, build_run_schema, name_schemas
from looseleaf.web.rest.arguments import build_accepted_schema
from looseleaf.web.rest.endpoints import NAMESPACE, list_endpoints
from looseleaf.web.rest.openapi_paths import (
    CONDITIONS,
    describe_handler,
    describe_page_paths,
    describe_server_paths,
)
from looseleaf.web.rest.paging import PARAMETERS
from looseleaf.web.rest.statuses import describe_failures, describe_success

if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.plugins.endpoints import Endpoint

    Document = dict[str, Any]

ABOUT = (
    "Persistent memory for AI agents, kept as Markdown pages. Every path also exists "
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


def build_document(context: Context) -> Document:
    """Describe everything that the server answers."""
    paths: Document = {}
    for endpoint in list_endpoints(context.parts).all():
        if endpoint.operation:
            operation = find_operation(context, endpoint.operation)
            description = _describe_endpoint(endpoint, operation)
        else:
            description = describe_handler(endpoint)
        paths.setdefault(NAMESPACE + endpoint.path, {})[endpoint.method.lower()] = description
    for path, methods in {**describe_page_paths(context), **describe_server_paths()}.items():
        paths.setdefault(path, {}).update(methods)
    for operation in operations_of(context):
        paths[f"{ABILITIES}/{operation.name}/run"] = _describe_ability(operation)
    schemas: Document = {"Error": ERROR}
    paths = name_schemas(paths, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Looseleaf", "version": version("looseleaf"), "description": ABOUT},
        "paths": paths,
        "components": {"securitySchemes": SECURITY, "schemas": schemas},
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


def _describe_endpoint(endpoint: Endpoint, operation: Operation) -> Document:
    shape = build_accepted_schema(operation)
    error_statuses = (502,) if operation.permission == "chat" else ()
    in_path = set(endpoint.parameters)
    rest = {
        name: property_schema
        for name, property_schema in shape["properties"].items()
        if name not in in_path and name not in endpoint.fixed_arguments
    }
    required = [name for name in shape["required"] if name in rest]
    parameters = [_describe_path_parameter(name, shape["properties"]) for name in sorted(in_path)]
    description: Document = {
        "operationId": _build_operation_id(endpoint.method, endpoint.path),
        "summary": operation.summary,
        "description": f"The operation `{operation.name}`; permission: `{operation.permission}`.",
        "tags": [endpoint.path.split("/")[1]],
        "responses": {
            str(endpoint.status): describe_success(schema=build_endpoint_schema(operation)),
            **describe_failures(endpoint.method, *error_statuses),
        },
    }
    if endpoint.method in ("GET", "DELETE"):
        parameters += [
            _describe_parameter(name, property_schema, "query", is_required=name in required)
            for name, property_schema in rest.items()
        ]
        if endpoint.method == "GET":
            parameters += PARAMETERS
    else:
        description["requestBody"] = describe_body(rest, required)
        if endpoint.whole_body:
            any_object = {"type": "object"}
            description["requestBody"]["content"] = {"application/json": {"schema": any_object}}
    for media_type, body_schema in endpoint.body_types.items():
        description["requestBody"]["content"][media_type] = {"schema": body_schema}
    if operation.changes_page:
        parameters += CONDITIONS
    return description | {"parameters": parameters}


def _build_operation_id(method: str, path: str) -> str:
    words = path.replace("{", "by-").replace("}", "").strip("/").replace("/", "-")
    return f"{method.lower()}-{words}"


def _describe_parameter(name: str, shape: Document, place: str, *, is_required: bool) -> Document:
    text = shape.get("description", "")
    if "anyOf" in shape:  # a query has no null: a missing parameter is null
        options = [option for option in shape["anyOf"] if option.get("type") != "null"]
        shape = options[0] if len(options) == 1 else {**shape, "anyOf": options}
    parameter_schema = {key: keyword for key, keyword in shape.items() if key != "description"}
    return {
        "name": name,
        "in": place,
        "required": is_required,
        "description": text,
        "schema": parameter_schema,
    }


def _describe_path_parameter(name: str, properties: Document) -> Document:
    text = properties[name]["description"]
    return _describe_parameter(
        name, {"type": "string", "description": text}, "path", is_required=True
    )


def describe_body(
    properties: Document, required: list[str], alternatives: list[Document] | None = None
) -> Document:
    """Describe a JSON body; `alternatives` are arguments that may be given under several names."""
    shape = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    if alternatives:
        shape["allOf"] = alternatives
    return {
        "required": bool(required or alternatives),
        "content": {"application/json": {"schema": shape}},
    }


def _describe_ability(operation: Operation) -> Document:
    shape = build_accepted_schema(operation)
    error_statuses = (502,) if operation.permission == "chat" else ()
    description: Document = {
        "operationId": f"run-{operation.name.replace('/', '-')}",
        "summary": operation.summary,
        "description": f"Permission: `{operation.permission}`.",
        "tags": ["abilities"],
        "requestBody": describe_body(
            shape["properties"], shape["required"], shape.get("allOf", [])
        ),
        "responses": {
            "200": describe_success(schema=build_run_schema(operation)),
            **describe_failures("POST", *error_statuses),
        },
    }
    if operation.changes_page:
        description["parameters"] = CONDITIONS
    return {"post": description}
