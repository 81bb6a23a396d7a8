"""The OpenAPI document, derived from the catalog and the table of endpoints."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from looseleaf.catalog.resolution import find_operation
from looseleaf.memory.scope import LAYERS
from looseleaf.web.rest.abilities import ABILITIES, OPERATIONS, operations_of
from looseleaf.web.rest.answer_schemas import (
    build_change_schema,
    build_endpoint_schema,
    build_page_schema,
    build_run_schema,
    list_of,
    name_schemas,
    object_of,
)
from looseleaf.web.rest.calls import PARAMETERS, build_accepted_schema
from looseleaf.web.rest.endpoints import DAY, NAMESPACE, list_endpoints
from looseleaf.web.rest.pages import DELETE, DELETE_DAY, READ, READ_DAY, WRITE, WRITE_DAY

if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.plugins.endpoints import Endpoint

    Document = dict[str, Any]


# The statuses in the OpenAPI document, each with its meaning here.


MEANINGS = {
    400: "The request is wrong as it stands; nothing was done.",
    401: "There is no valid credential: send one.",
    403: "The principal lacks a right; the message names it.",
    404: "Nothing of that name exists, or you may not see it.",
    405: "The address does not take that method.",
    406: "JSON cannot hold the page; ask for text.",
    408: "The request did not arrive in time.",
    409: "The page has changed, the name is taken, or the session is being answered.",
    412: "The page is not the version that the headers name; the message names both versions.",
    413: "Too many bytes.",
    415: "Send UTF-8 text or JSON, uncompressed and not as a form.",
    428: "The settings require every change to name the version that it replaces.",
    429: "Too many failed logins from this address.",
    500: "A fault of the server.",
    502: "The model did not answer; the message is kept.",
    503: "The store or the database cannot answer now; nothing was written.",
    507: "The disk is full; the old bytes are intact.",
}
_READ_STATUSES = (400, 401, 403, 404, 405, 429, 500, 503)
_WRITE_STATUSES = (*_READ_STATUSES, 408, 409, 412, 413, 415, 428, 507)


ENVELOPE: dict[str, Any] = {
    "type": "object",
    "required": ["success", "data"],
    "properties": {"success": {"const": True}, "data": {}},
}


def describe_success(
    description: str = "Done.", schema: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Describe a successful response: our envelope, or another schema."""
    content = {"application/json": {"schema": ENVELOPE if schema is None else schema}}
    return {"description": description, "content": content}


def describe_failures(method: str, *extra_statuses: int) -> dict[str, Any]:
    """Describe every way in which a request can fail."""
    is_reading = method in ("GET", "HEAD")
    return {
        str(status): {
            "description": MEANINGS[status],
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        for status in sorted(
            {*(_READ_STATUSES if is_reading else _WRITE_STATUSES), *extra_statuses}
        )
    }


# The OpenAPI description of the addresses outside the table of endpoints.


_FILE = f"{NAMESPACE}/files/agent/{{file}}"
_PAGE_FAILURES = (406, 412)
_TEXT = {"schema": {"type": "string"}}
_PUBLIC: dict[str, list[str]] = {"security": []}


def describe_page_paths(context: Context) -> Document:
    """Describe a page and a day at their own addresses."""
    parts = (("year", 4), ("month", 2), ("day", 2))
    day = [
        _describe_named_parameter(
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
        return _describe_named_parameter(name, place, shape, property_schema["description"])

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


def _describe_named_parameter(name: str, place: str, shape: Document, text: str) -> Document:
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
    name = [
        _describe_named_parameter("name", "path", {"type": "string"}, "The name of the operation.")
    ]
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
        f"{ABILITIES}/{{name}}": {"get": _describe_ability_path(name)},
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


def _describe_ability_path(name: list[Document]) -> Document:
    answer = describe_success("An object, as WordPress gives it.", _ABILITY)
    return _describe_server_path("Describe one operation.", "GET", parameters=name) | {
        "responses": {"200": answer, **describe_failures("GET")}
    }


def _describe_server_path(summary: str, method: str, **parts: Any) -> Document:  # noqa: ANN401 - parts of the document
    responses = {"200": describe_success(), **describe_failures(method)}
    return {"summary": summary, "tags": ["server"], "responses": responses, **parts}


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
