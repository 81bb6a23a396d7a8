"""The memory of one agent, as a program uses it: remember, read, search, prompt, tools."""

from __future__ import annotations

import json
import os

from looseleaf.access.principals import LOCAL_ADMINISTRATOR, act_through, confine_model
from looseleaf.catalog.dispatch import run_operation
from looseleaf.catalog.model_tools import build_failure, call_tool, declare_tools
from looseleaf.catalog.operation_tools import list_small_tools, pick_tool, wrap_result
from looseleaf.catalog.tool_access import choose_listed_tools, require_tool
from looseleaf.errors import Invalid, LooseleafError
from looseleaf.memory.pages import FACTS, MAIN, format_fact
from looseleaf.memory.provenance import SESSION, Activity
from looseleaf.prompt.request import Tool
from looseleaf.values import replace, value
from looseleaf.workspace import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation_tools import OperationTool
    from looseleaf.memory.pages import PageText, Saved
    from looseleaf.memory.search.results import PageHit, RankedPages
    from looseleaf.operations.recent import RecentChange, RecentChanges

    Provider = Literal["openai", "anthropic", "gemini"]

_IN_THE_PROMPT = ("compose_prompt", "explain_prompt")  # the request has the memory already


def open(  # noqa: A001 - as `gzip.open`: it is read with the name of the package
    root: str | os.PathLike[str] | None = None,
    *,
    agent: str = "",
    actor: str = "",
    create: bool = False,
    attended: bool = False,
) -> AgentMemory:
    """Open the memory of an agent in a workspace, or the workspace that is found from here.

    With `create`, a folder without a workspace becomes one, with a journal, and an agent that is
    not there is added. `actor` is the program's name in the history. `attended` says that a person
    is present, so that the model may add to that person's USER.md.
    """
    if create:
        if root is None:
            raise Invalid("A workspace is created in a folder that is named: open(root, …).")
        folder = os.path.expanduser(os.fspath(root))
        is_new = not os.path.lexists(os.path.join(folder, "looseleaf.toml"))
        workspace = (
            Workspace.create(folder, agent=agent or "main", journal=True)
            if is_new
            else Workspace.open(folder)
        )
        if agent and agent not in workspace.agents.slugs():
            run_operation(workspace.context, "looseleaf/create-agent", {"slug": agent})
    else:
        workspace = Workspace.open(root and os.path.expanduser(os.fspath(root)))
    return AgentMemory(workspace, agent, actor=actor, attended=attended)


class AgentMemory:
    """The pages, the journal and the prompt of one agent; its methods may be called by threads.

    Everything passes through the operations that REST and MCP offer, with the rights of the agent.
    """

    def __init__(
        self, workspace: Workspace, agent: str = "", *, actor: str = "", attended: bool = False
    ) -> None:
        self.workspace = workspace
        self.agent = workspace.agents.resolve(agent or None)
        principal = act_through(
            LOCAL_ADMINISTRATOR,
            self.agent.id,
            user=self.agent.owner,
            name=actor or self.agent.slug,
        )
        self._context = workspace.acting(
            principal=principal,
            reason=f"through {actor}" if actor else "",
            activity=Activity(SESSION, os.urandom(8).hex()),
        )
        model = replace(confine_model(principal), is_attended=attended)
        self._model_context: Context = replace(self._context, principal=model)

    def __enter__(self) -> AgentMemory:
        return self

    def __exit__(self, *_outcome: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every folder, file and connection of the workspace."""
        self.workspace.close()

    def remember(self, text: str, *, section: str = FACTS, file: str = MAIN) -> Saved:
        """Add lines to a section of a page; a plain line becomes an item of its list."""
        if not text.strip():
            raise Invalid("The text to remember is empty.")
        content = format_fact(text)
        fields = {"section": section, "content": content, "file": file, "mode": "append"}
        saved: Saved = self._run("datamachine/update-agent-memory", **fields)
        return saved

    def read(self, file: str = MAIN, *, section: str | None = None) -> str:
        """Read a page, or one section of it."""
        page: PageText = self._run("datamachine/get-agent-memory", file=file, section=section)
        return page.content

    def search(self, words: str, *, limit: int = 10) -> tuple[PageHit, ...]:
        """Find the pages that are about some words, best first, each with its best lines."""
        found: RankedPages = self._run("looseleaf/find-pages", words=words, limit=limit)
        return found.pages

    def recent(self, since: str = "yesterday", *, limit: int = 20) -> tuple[RecentChange, ...]:
        """List what was learned lately, newest first."""
        changes: RecentChanges = self._run(
            "looseleaf/list-recent", since=since, limit=limit, agent=self.agent.slug
        )
        return changes.changes

    def journal(self, text: str, *, date: str | None = None) -> Saved:
        """Add lines to a day of the journal, by default to today in UTC."""
        fields = {"content": text, "mode": "append", "date": date}
        saved: Saved = self._run("datamachine/daily-memory-write", **fields)
        return saved

    def prompt(self, mode: str = "chat") -> str:
        """Return the memory as the system message of a request in a mode."""
        return self.workspace.compose(mode, self.agent.id).text

    def tools(self, provider: Provider = "openai") -> list[dict[str, Any]]:
        """List the tools by which a model reads and changes this memory, as a provider takes them.

        They are those of `looseleaf mcp`, as far as the policy of the agent allows them.
        """
        tools = [tool for tool in self._list_tools() if tool.name not in _IN_THE_PROMPT]
        choices = choose_listed_tools(self._model_context, self.agent, tools)
        given = [
            Tool(tool.name, tool.summary, json.dumps(tool.parameters(is_scoped=True)))
            for tool, choice in zip(tools, choices, strict=True)
            if choice.is_given
        ]
        return declare_tools(given, provider)

    def call(self, tool_call: Any) -> dict[str, Any]:  # noqa: ANN401 - of any provider's SDK
        """Run a tool call of a model, and return the message that answers it.

        The call is an object of OpenAI's, Anthropic's or Google's SDK, or the same as JSON. An
        error is the result that the model reads; only a call that is none raises `Invalid`.
        """
        call = _read_call(tool_call)
        try:
            tool = pick_tool(self._list_tools(), call.name)
            require_tool(self._model_context, tool.operation, tool.name)
            arguments = json.loads(call.arguments or "{}")
            if not isinstance(arguments, dict):
                raise Invalid("The arguments of a call are a JSON object.")
            data = wrap_result(tool.operation, call_tool(self._model_context, tool, arguments))
            result: dict[str, Any] = {"success": True, "data": data, "tool_name": tool.name}
        except json.JSONDecodeError as error:
            result = build_failure(call.name, Invalid(f"The arguments are not JSON ({error})."))
        except LooseleafError as error:
            result = build_failure(call.name, error)
        return _answer_call(call, result)

    def _list_tools(self) -> tuple[OperationTool, ...]:
        self.workspace.operations()  # the catalog is filled when it is first asked for
        return list_small_tools()

    def _run(self, operation: str, **fields: object) -> Any:  # noqa: ANN401 - its result
        arguments = {name: field for name, field in fields.items() if field is not None}
        return run_operation(self._context, operation, arguments)


# A call of a tool, as providers write it, and the message with its result.


@value
class _ToolCall:
    """The call of a model: who wrote it, its id, the tool, and the arguments as JSON."""

    form: str
    id: str
    name: str
    arguments: str


def _read_call(tool_call: Any) -> _ToolCall:  # noqa: ANN401 - of any provider's SDK
    def field(holder: object, name: str) -> Any:  # noqa: ANN401 - any JSON
        return holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)

    function = field(tool_call, "function")
    call_id = str(field(tool_call, "call_id") or field(tool_call, "id") or "")
    holder = tool_call if function is None else function
    name, arguments = field(holder, "name"), field(holder, "arguments")
    form = "openai" if function is not None else "responses"
    if arguments is None and function is None:
        form, arguments = "anthropic", field(tool_call, "input")
    if arguments is None and form == "anthropic":
        form, arguments = "gemini", field(tool_call, "args")
    if not isinstance(name, str) or not name or not isinstance(arguments, str | dict | None):
        raise Invalid(
            "This is no tool call. Give one of OpenAI's, Anthropic's or Google's: an object or "
            "JSON with a name and arguments, input or args."
        )
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return _ToolCall(form, call_id, name, text)


def _answer_call(call: _ToolCall, result: dict[str, Any]) -> dict[str, Any]:
    content = json.dumps(result, ensure_ascii=False)
    if call.form == "openai":
        return {"role": "tool", "tool_call_id": call.id, "content": content}
    if call.form == "responses":
        return {"type": "function_call_output", "call_id": call.id, "output": content}
    if call.form == "anthropic":
        answer = {"type": "tool_result", "tool_use_id": call.id, "content": content}
        return answer if result["success"] else {**answer, "is_error": True}
    response: dict[str, Any] = {"name": call.name, "response": result}
    return {"functionResponse": {"id": call.id, **response} if call.id else response}
