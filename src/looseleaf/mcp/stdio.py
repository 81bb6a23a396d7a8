"""The server of one client over standard input and output, which acts for the operator."""

from __future__ import annotations

import io
import json
import os
import sys
from _thread import allocate_lock

from looseleaf.access.principals import LOCAL_ADMINISTRATOR, act_through, confine_model
from looseleaf.catalog.operation_tools import list_operation_tools, list_small_tools
from looseleaf.errors import LooseleafError, Unavailable
from looseleaf.mcp import methods
from looseleaf.mcp.methods import INVALID_REQUEST, PARSE_ERROR, Features, ProtocolError, run_request
from looseleaf.mcp.page_changes import LIST, state_of_list, state_of_page
from looseleaf.memory.provenance import SESSION, Activity
from looseleaf.operations import daily, files, memory, prompt, search
from looseleaf.settings import Settings, find_folder, find_project_agent
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO, TypeGuard

    from looseleaf.catalog.context import Context
    from looseleaf.mcp.subscriptions import RequestThreads, Subscriptions
    from looseleaf.workspace import Workspace

    Identity = str | int

    Parameters = dict[str, Any]


# Lines of JSON-RPC over standard input and output, reserved for the protocol.


_CHUNK = 65_536


class JsonLines:
    """The two streams of one client; each line is one message."""

    def __init__(self, input_stream: BinaryIO, output_stream: BinaryIO) -> None:
        self._input, self._output = input_stream, output_stream
        self._lock = allocate_lock()
        self._is_closed = False

    @classmethod
    def claim(cls) -> JsonLines:
        """Take standard input and output for the protocol alone.

        The output of plugins and libraries goes to standard error from now on, and their standard
        input is empty.
        """
        try:
            input_fd, output_fd = os.dup(0), os.dup(1)
            os.dup2(2, 1)
            null_fd = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            os.dup2(null_fd, 0)
            os.close(null_fd)
        except OSError as error:
            raise Unavailable("Standard input or output", error.strerror) from error
        return cls(open(input_fd, "rb"), io.BufferedWriter(io.FileIO(output_fd, "wb")))

    def lines(self, most_bytes: int) -> Iterator[bytes | None]:
        """Yield each line as it comes; None in the place of a line that is too long."""
        while line := self._input.readline(most_bytes + 1):
            if len(line) <= most_bytes or line.endswith(b"\n"):
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = self._input.readline(_CHUNK)
            yield None

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; ignored if the client has closed the connection."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        # The name of a file may hold a lone surrogate, which JSON can escape.
        line = text.encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            if self._is_closed:
                return
            try:
                self._output.write(line)
                self._output.flush()
            except OSError:
                self._is_closed = True


def parse_line(line: bytes) -> dict[str, Any]:
    """Parse the message of a line, or raise a `ProtocolError`."""
    try:
        message = json.loads(line.decode(), parse_constant=_refuse_constant)
        if b"\\ud" in line or b"\\uD" in line:
            json.dumps(message, ensure_ascii=False).encode()  # fails for a lone surrogate
    except (ValueError, RecursionError) as error:
        raise ProtocolError(PARSE_ERROR, f"This line is not JSON ({error}).") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'A message must be an object with "jsonrpc": "2.0".')
    return message


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


# One client over stdio: its generation of the protocol, its requests and cancellations.
# The first request decides the generation: with the envelope of 2026-07-28 in `_meta`, every
# request names its client; in older versions the handshake `initialize` is the first request.


HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ENVELOPE_VERSIONS = ("2026-07-28",)
_PREFIX = "io.modelcontextprotocol/"
_VERSION, _CAPABILITIES = f"{_PREFIX}protocolVersion", f"{_PREFIX}clientCapabilities"
_CLIENT, _SERVER = f"{_PREFIX}clientInfo", f"{_PREFIX}serverInfo"
_ENVELOPE = {"resultType": "complete", "_meta": {_SERVER: methods.INFORMATION}}
_FRESH = {"ttlMs": 0, "cacheScope": "private"}
# A thread costs more than these methods: reading a page takes less time than starting a thread.
_QUICK_METHODS = {"tools/list", "resources/read", "resources/templates/list", "prompts/list"}
_QUICK_OPERATIONS = {
    "datamachine/daily-memory-read",
    "datamachine/get-agent-file",
    "datamachine/get-agent-memory",
    "datamachine/list-agent-memory-sections",
}


class ClientConnection:
    """Answers one client; `context_of` returns the context of a client by its name."""

    def __init__(
        self, server_features: Features, context_of: Callable[[str], Context], lines: JsonLines
    ) -> None:
        self._features, self._context_of, self._lines = server_features, context_of, lines
        self._by_envelope: bool | None = None  # the generation; None before the first request
        self._client = ""  # the name of the client, after the handshake
        self._open: set[Identity] = set()  # requests that are neither answered nor cancelled
        # The thread that reads the requests creates both, when it first needs them.
        self._opened_workers: RequestThreads | None = None
        self._opened_subscriptions: Subscriptions | None = None
        self._quick_tools = {
            tool.name for tool in server_features.tools if tool.operation.name in _QUICK_OPERATIONS
        }

    def serve(self, most_bytes: int) -> None:
        """Answer until the client closes the connection, and finish its requests."""
        try:
            for line in self._lines.lines(most_bytes):
                self._receive(line, most_bytes)
        finally:
            if self._opened_subscriptions is not None:
                self._opened_subscriptions.close()
            if self._opened_workers is not None:
                self._opened_workers.finish()

    @property
    def _workers(self) -> RequestThreads:
        if self._opened_workers is None:
            from looseleaf.mcp.subscriptions import RequestThreads

            self._opened_workers = RequestThreads()
        return self._opened_workers

    @property
    def _subscriptions(self) -> Subscriptions:
        if self._opened_subscriptions is None:
            from looseleaf.mcp.subscriptions import Subscriptions

            self._opened_subscriptions = Subscriptions(self._lines.send)
        return self._opened_subscriptions

    def _receive(self, line: bytes | None, most_bytes: int) -> None:
        if line is not None and not line.strip():
            return
        if line is None:
            reason = f"A line has at most {most_bytes} bytes."
            self._fail(None, ProtocolError(methods.INVALID_REQUEST, reason))
            return
        try:
            message = parse_line(line)
        except ProtocolError as error:
            self._fail(None, error)
            return
        method, params = message.get("method"), message.get("params")
        if method is None and ("result" in message or "error" in message):
            return  # a response is ignored: the server sends no requests
        identity = message.get("id")
        is_request = "id" in message
        if not isinstance(method, str) or not isinstance(params, dict | None):
            fault = ProtocolError(
                methods.INVALID_REQUEST, "method must be a text, params an object."
            )
            self._fail(identity if _is_identity(identity) else None, fault)
        elif not is_request:
            self._handle_notification(method, params or {})
        elif not _is_identity(identity):
            self._fail(
                None, ProtocolError(methods.INVALID_REQUEST, "An id must be a text or a number.")
            )
        else:
            self._handle_request(identity, method, params or {})

    def _handle_notification(self, method: str, params: Parameters) -> None:
        """Handle a notification, which has no answer."""
        if method == "notifications/cancelled":
            identity = params.get("requestId")
            if _is_identity(identity):
                self._open.discard(identity)  # the request may still run, but is not answered
                self._subscriptions.end(identity)

    def _handle_request(self, identity: Identity, method: str, params: Parameters) -> None:
        if identity in self._open:
            fault = ProtocolError(
                methods.INVALID_REQUEST, "Another request with this id is still running."
            )
            self._fail(identity, fault)
            return
        if self._by_envelope is None:
            self._by_envelope = method != "initialize" and _VERSION in _meta_of(params)
        self._open.add(identity)

        def work() -> None:
            if identity not in self._open:
                return
            try:
                result = run_request(self._answer, identity, method, params)
            except ProtocolError as error:
                if identity in self._open:
                    self._open.discard(identity)
                    self._fail(identity, error)
                return
            if result is not None and identity in self._open:
                self._open.discard(identity)
                self._lines.send({"jsonrpc": "2.0", "id": identity, "result": result})

        if self._is_quick(method, params):
            work()
        else:
            self._workers.submit(work)

    def _is_quick(self, method: str, params: Parameters) -> bool:
        if method == "tools/call":
            arguments = params.get("arguments")
            is_past = isinstance(arguments, dict) and arguments.get("as_of")
            return params.get("name") in self._quick_tools and not is_past
        return method in _QUICK_METHODS or method not in methods.METHODS

    def _fail(self, identity: Identity | None, error: ProtocolError) -> None:
        fault = {"code": error.code, "message": error.message}
        if error.data is not None:
            fault["data"] = error.data
        self._lines.send({"jsonrpc": "2.0", "id": identity, "error": fault})

    def _answer(self, identity: Identity, method: str, params: Parameters) -> dict[str, Any] | None:
        if not self._by_envelope:
            return self._answer_after_handshake(method, params)
        if method == "initialize":
            raise ProtocolError(
                methods.UNSUPPORTED_VERSION,
                f"This connection speaks {ENVELOPE_VERSIONS[0]}, which has no handshake.",
                {"supported": list(ENVELOPE_VERSIONS), "requested": params.get("protocolVersion")},
            )
        _check_envelope(params)
        client = methods.client_name_of(_meta_of(params).get(_CLIENT))
        if method == "subscriptions/listen":
            self._listen(identity, client, params)
            return None  # the stream is open until it is cancelled
        if method == "server/discover":
            versions = {"supportedVersions": list(ENVELOPE_VERSIONS)}
            result = {**versions, **self._build_introduction(client, notify_lists=True)}
        else:
            result = self._run(method, client, params)
        return {**result, **_ENVELOPE, **(_FRESH if method in methods.CACHEABLE else {})}

    def _answer_after_handshake(self, method: str, params: Parameters) -> dict[str, Any]:
        if method == "initialize":
            return self._answer_handshake(params)
        if _VERSION in _meta_of(params):
            raise ProtocolError(
                methods.INVALID_REQUEST,
                "This connection began with the handshake of an older protocol, so its requests "
                f"have no {_VERSION}.",
            )
        if method == "ping":
            return {}
        subscribes = method in ("resources/subscribe", "resources/unsubscribe")
        if not subscribes and method not in methods.METHODS:
            raise ProtocolError(methods.METHOD_NOT_FOUND, "Method not found", method)
        if not self._client:
            raise ProtocolError(methods.INVALID_REQUEST, "The first request must be initialize.")
        if not subscribes:
            return self._run(method, self._client, params)
        uri = methods.text_of(params, "uri")
        if method == "resources/unsubscribe":
            self._subscriptions.unsubscribe(uri)
        else:
            self._subscriptions.subscribe(uri, state_of_page(self._context_of(self._client), uri))
        return {}

    def _answer_handshake(self, params: Parameters) -> dict[str, Any]:
        requested_version = methods.text_of(params, "protocolVersion")
        self._client = methods.client_name_of(params.get("clientInfo"))
        version = (
            requested_version if requested_version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        )
        identity = {"protocolVersion": version, "serverInfo": methods.INFORMATION}
        return {**identity, **self._build_introduction(self._client, notify_lists=False)}

    def _build_introduction(self, client: str, *, notify_lists: bool) -> dict[str, Any]:
        try:
            instructions = methods.build_instructions(self._context_of(client).settings, client)
        except LooseleafError as error:
            instructions = methods.build_absence_notice(error)
        return {
            "capabilities": methods.build_capabilities(lists_change=notify_lists),
            "instructions": instructions,
        }

    def _run(self, method: str, client: str, params: Parameters) -> dict[str, Any]:
        if method not in methods.METHODS:
            raise ProtocolError(methods.METHOD_NOT_FOUND, "Method not found", method)
        try:
            return methods.METHODS[method](self._features, self._context_of(client), params)
        except LooseleafError as error:
            return methods.answer_without_workspace(self._features, error, method, params)

    def _listen(self, identity: Identity, client: str, params: Parameters) -> None:
        """Open a stream of changes of pages; the client must have the right to read them."""
        filters = methods.object_of(params, "notifications")
        uris = filters.get("resourceSubscriptions") or []
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            raise ProtocolError(
                methods.INVALID_PARAMS, "resourceSubscriptions must be a list of texts."
            )
        context = self._context_of(client)
        states = {uri: state_of_page(context, uri) for uri in dict.fromkeys(uris)}
        # Tools and prompts never change while a server runs.
        if filters.get("resourcesListChanged"):
            states[LIST] = state_of_list(lambda: self._context_of(client))
        self._subscriptions.listen(identity, states)


def _meta_of(params: Parameters) -> dict[str, Any]:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _check_envelope(params: Parameters) -> None:
    """Raise unless a request names its protocol version and the abilities of its client."""
    meta = _meta_of(params)
    absent = [name for name in (_VERSION, _CAPABILITIES) if name not in meta]
    if absent:
        raise ProtocolError(methods.INVALID_PARAMS, f"_meta lacks {', '.join(absent)}.")
    version = meta[_VERSION]
    if not isinstance(version, str):
        raise ProtocolError(methods.INVALID_PARAMS, f"{_VERSION} must be a text.")
    if version not in ENVELOPE_VERSIONS:
        raise ProtocolError(
            methods.UNSUPPORTED_VERSION,
            f"Unsupported protocol version {version!r}.",
            {"supported": list(ENVELOPE_VERSIONS), "requested": version},
        )


def _is_identity(identity: object) -> TypeGuard[Identity]:
    return isinstance(identity, str | int) and not isinstance(identity, bool)


ENVELOPE_BYTES = 1_048_576
# Each module adds its operations; the small set of tools needs no other module.
SMALL_SET = (daily, files, memory, prompt, search)


@value(kw_only=True)
class ServerOptions:
    """Whom a server serves, and with which tools."""

    agent: str | None = None
    user: int | None = None
    all_agents: bool = False
    by_folder: bool = False  # the agent of the project in this folder comes before `agent`
    full: bool = False


class ServedWorkspace:
    """The workspace of a client, opened by the first request that finds it.

    A host must start with or without memory, so a workspace that cannot be opened is an error of
    each request; it is served as soon as it is there.
    """

    def __init__(self, open_workspace: Callable[[], Workspace], options: ServerOptions) -> None:
        self._open_workspace, self._options = open_workspace, options
        self._lock = allocate_lock()
        self._opened: tuple[Workspace, Callable[[str], Context]] | None = None

    def open(self) -> Workspace:
        """Return the workspace, or raise if it cannot be opened or has no such agent."""
        return self._connect()[0]

    def context_of(self, client: str) -> Context:
        """Return the context of a client, or raise if the workspace is away."""
        workspace, contexts = self._connect()
        workspace.root_folder.require()
        return contexts(client)

    def _connect(self) -> tuple[Workspace, Callable[[str], Context]]:
        if self._opened is None:
            with self._lock:
                if self._opened is None:
                    self._opened = self._open()
        return self._opened

    def _open(self) -> tuple[Workspace, Callable[[str], Context]]:
        try:
            workspace = self._open_workspace()
        except OSError as error:
            raise Unavailable("The workspace", error.strerror) from error
        try:
            return workspace, self._choose_contexts(workspace)
        except LooseleafError:
            workspace.close()
            raise

    def _choose_contexts(self, workspace: Workspace) -> Callable[[str], Context]:
        options, settings = self._options, workspace.settings
        agent = options.agent
        if options.by_folder:
            agent = find_project_agent(settings.projects, find_folder()) or agent
        record = None if options.all_agents else workspace.agents.resolve(agent)
        user = options.user or (record.owner if record else settings.default_user)
        return local_context_of(workspace, record.id if record else 0, user, full=options.full)


def serve(open_workspace: Callable[[], Workspace], options: ServerOptions) -> None:
    """Serve until the client closes the connection, even if the workspace is away."""
    has_person = sys.stdin is not None and sys.stdin.isatty()
    lines = JsonLines.claim()
    served = ServedWorkspace(open_workspace, options)
    most_bytes = Settings(root="").max_page_bytes
    try:
        workspace = served.open()
        most_bytes = workspace.settings.max_page_bytes
        tools = list_operation_tools(workspace.context, full=options.full)
    except LooseleafError as error:
        if has_person:
            raise
        sys.stderr.write(f"looseleaf: {error}\n")
        tools = list_small_tools()
    connection = ClientConnection(Features(tools), served.context_of, lines)
    connection.serve(compute_message_limit(most_bytes))


def compute_message_limit(max_page_bytes: int) -> int:
    """Return the largest number of bytes of a message.

    In JSON, a page of prose takes at most twice its bytes.
    """
    return 2 * max_page_bytes + ENVELOPE_BYTES


def local_context_of(
    workspace: Workspace, agent_id: int, user: int, *, full: bool = False
) -> Callable[[str], Context]:
    """Build the contexts of a client: it acts for the operator, as the agent, in one session.

    Its own name stands in the reason of its changes. Only with `full` may a client change the
    identity of an agent and the rules for all agents.
    """

    session = Activity(SESSION, os.urandom(8).hex())

    def context_of(client: str) -> Context:
        principal = act_through(LOCAL_ADMINISTRATOR, agent_id, user=user, name=client)
        if not full:
            principal = confine_model(principal)
        # A person started the program and is present.
        principal = replace(principal, is_attended=True)
        reason = f"through {client}"
        return workspace.acting(principal=principal, surface="mcp", reason=reason, activity=session)

    return context_of
