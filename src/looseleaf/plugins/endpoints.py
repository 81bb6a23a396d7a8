"""The REST endpoints of a workspace: addresses of operations, and handlers of features and plugins.

Nothing here imports a web framework: a handler is named by the feature or plugin that has it.
"""

from __future__ import annotations

from looseleaf.errors import InvalidName, Refused
from looseleaf.memory.registry import OWNER, NamedRegistry
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    # It is given the request and its endpoint, and returns the response of the web framework.
    Handler = Callable[[Any, "Endpoint"], Awaitable[Any]]

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@value(kw_only=True)
class Endpoint:
    """An operation or a handler at an address; `{names}` in the path are arguments.

    Fields:
        method: The method of the request.
        path: The address, below the namespace of the API.
        operation: The operation that answers; "" for a handler that runs none.
        status: The status of a success.
        fixed_arguments: Arguments that the address implies.
        whole_body: The argument that gets the whole JSON body.
        handler: A function that answers in place of the plain call of the operation.
        body_types: Bodies that the handler accepts besides JSON: the schema of each media type.
        summary: The summary of an address without an operation.
        is_public: Whether the address takes no credential.
        owner: The plugin that has registered the endpoint.
    """

    method: str
    path: str
    operation: str = ""
    status: int = 200
    fixed_arguments: Mapping[str, str] = FrozenDict()
    whole_body: str = ""
    handler: Handler | None = None
    body_types: Mapping[str, Any] = FrozenDict()
    summary: str = ""
    is_public: bool = False
    owner: str = OWNER

    @property
    def name(self) -> str:
        """Method and path, by which an endpoint is removed."""
        return f"{self.method} {self.path}"

    @property
    def parameters(self) -> list[str]:
        """The names in the path."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


class Endpoints(NamedRegistry):
    """The REST endpoints of one workspace, by method and path."""

    noun, hook = "endpoint", "register_endpoints"

    def register(  # noqa: PLR0913 - each is a field of the value; three are positional
        self,
        method: str,
        path: str,
        operation: str = "",
        *,
        status: int = 200,
        fixed_arguments: Mapping[str, str] = FrozenDict(),
        whole_body: str = "",
        handler: Handler | None = None,
        body_types: Mapping[str, Any] = FrozenDict(),
        summary: str = "",
        is_public: bool = False,
        owner: str = "",
    ) -> Endpoint:
        """Add an endpoint, or refuse one whose method and path are taken."""
        endpoint = Endpoint(
            method=method,
            path=path,
            operation=operation,
            status=status,
            fixed_arguments=fixed_arguments,
            whole_body=whole_body,
            handler=handler,
            body_types=body_types,
            summary=summary,
            is_public=is_public,
            owner=owner or OWNER,
        )
        self._refuse_if_frozen(endpoint.name)
        if method not in METHODS or not path.startswith("/"):
            rule = f"an endpoint is one of {', '.join(METHODS)} at a path that begins with /"
            raise InvalidName(endpoint.name, rule)
        if endpoint.name in self._entries:
            taken = self._entries[endpoint.name]
            raise InvalidName(endpoint.name, f"{taken.owner} has an endpoint of that address")
        if not operation and (endpoint.handler is None or not endpoint.summary):
            raise Refused(f"The endpoint {endpoint.name} has neither operation nor handler.")
        self._entries[endpoint.name] = endpoint
        return endpoint

    def all(self) -> tuple[Endpoint, ...]:
        """Return every endpoint, in the order of registration."""
        return tuple(self._entries.values())
