"""Every answer of a server in these tests is checked against the OpenAPI document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from looseleaf.web.rest.abilities import operations_of
from looseleaf.web.rest.openapi import build_document

if TYPE_CHECKING:
    import httpx2

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation

Validator = jsonschema_rs.Draft202012Validator
# The one address whose last part has slashes of its own; an uploaded file, /files/{file}, has none.
ANY_PAGE = "/files/agent/{file}"


_CHECKERS: dict[tuple[Operation, ...], OpenApiChecker] = {}


def share_checker(context: Context) -> OpenApiChecker:
    """Return the checker of all servers that have the same operations."""
    operations = operations_of(context)
    if operations not in _CHECKERS:
        _CHECKERS[operations] = OpenApiChecker(context)
    return _CHECKERS[operations]


class OpenApiChecker:
    """Checks the answers of a server against its OpenAPI document."""

    def __init__(self, context: Context) -> None:
        self._document: dict[str, Any] = build_document(context)
        paths: dict[str, dict[str, Any]] = self._document["paths"]
        self._routes = [
            (_build_pattern(path), paths[path]) for path in sorted(paths, key=_rank_path)
        ]
        self._validators: dict[int, Validator] = {}

    def check(self, answer: httpx2.Response) -> None:
        """Fail if a success in JSON is not what the document says; errors are checked, too."""
        if not answer.headers.get("content-type", "").startswith("application/json"):
            return
        schema = self._find_schema(answer)
        if schema is None:
            return
        answer.read()
        if answer.request.method == "HEAD" or not answer.content:
            return
        faults = list(self._build_validator(schema).iter_errors(answer.json()))
        assert not faults, (answer.request.method, str(answer.url), faults, answer.text[:2000])

    def _find_schema(self, answer: httpx2.Response) -> dict[str, Any] | None:
        path = answer.url.path.removeprefix("/wp-json")
        for pattern, methods in self._routes:
            if pattern.fullmatch(path):
                method = methods.get(answer.request.method.lower()) or methods.get("post", {})
                response = method.get("responses", {}).get(str(answer.status_code), {})
                schema: dict[str, Any] | None = (
                    response.get("content", {}).get("application/json", {}).get("schema")
                )
                return schema
        return None

    def _build_validator(self, schema: dict[str, Any]) -> Validator:
        key = id(schema)  # of a part of the document, which lives as long as this object
        if key not in self._validators:
            whole = {**schema, "components": self._document["components"]}
            self._validators[key] = Validator(whole)
        return self._validators[key]


def _rank_path(path: str) -> tuple[bool, int]:
    """Put exact paths first, and the path that any page fits last."""
    return path.endswith(ANY_PAGE), path.count("{")


def _build_pattern(path: str) -> re.Pattern[str]:
    expression = re.escape(path)
    if path.endswith(ANY_PAGE):
        expression = expression.removesuffix(r"\{file\}") + ".+"
    return re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", expression))
