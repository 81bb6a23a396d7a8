"""A first session with each coding agent, as docs/coding-agents.md shows it.

`python -m tests.mcp.clients.transcript codex` has the sessions and prints them.
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.mcp.clients.programs import LOOSELEAF, Connection, Session, install_programs

OLD = "Invoices are numbered from 4711 upwards"
NEW = "The zebra sleeps at noon"
QUESTIONS = ("Remember that the zebra sleeps at noon.", "When does the zebra sleep?")
ANSWERS = ("I will remember that.", "At noon.")


def run_sessions(connection: Connection) -> None:
    """Tell the model a fact in one session and ask for it in the next."""
    connection.connect(OLD)
    fact = {"section": "Lessons Learned", "content": f"- {NEW}"}
    connection.ask(QUESTIONS[0], (connection.program.tool, fact), text=ANSWERS[0])
    connection.ask(QUESTIONS[1], text=ANSWERS[1])


def write_transcript(connection: Connection) -> str:
    """Return the sessions as lines, shortened, without anything of this machine."""
    output = connection.install_output.splitlines()
    start = next(at for at, line in enumerate(output) if "starts it from now on" in line)
    lines = [
        "$ looseleaf init ~/memory --agent ada",
        f'$ looseleaf memory append "Lessons Learned" "- {OLD}" --root ~/memory',
        f"$ looseleaf mcp install --client {connection.client} --yes --root ~/memory",
        "…",
        *output[start:],
    ]
    for question, session in zip(QUESTIONS, connection.sessions, strict=True):
        lines += [
            "",
            f"$ {_format_command(session, question)}",
            *_format_exchange(connection, session),
        ]
    text = "\n".join(lines)
    home = str(connection.folder / "home")
    for path, name in ((str(LOOSELEAF), "looseleaf"), (home, "~"), (str(connection.folder), "~")):
        text = text.replace(path, name)
    return text


def _format_command(session: Session, question: str) -> str:
    words = [word for word in session.words if word not in ("-c", "--skip-git-repo-check")]
    return shlex.join([word for word in words if "=" not in word]).replace(
        shlex.quote(question), f'"{question}"'
    )


def _format_exchange(connection: Connection, session: Session) -> Iterator[str]:
    program, first = connection.program, session.first
    names = sorted(program.tools(first))
    prefix = program.tool.removesuffix("append_agent_memory")
    memory_tools = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    yield f"  first request: {len(names)} tools, {len(memory_tools)} of them of the memory:"
    yield from textwrap.wrap(
        ", ".join(memory_tools), 100, initial_indent="    ", subsequent_indent="    "
    )
    yield "  first request, in the text of the hook:"
    yield from (f"    {line}" for line in _find_memory_lines(first))
    known_texts = set(_list_texts(first))
    for request in session.requests[1:]:
        new = [text for text in _list_texts(request) if text not in known_texts]
        results = filter(None, (re.search(r'revision\\*": ?(\d+)', text) for text in new))
        yield f"  the model calls {program.tool}: {NEW}"
        yield f"  the tool answers: revision {next(results)[1]} of MEMORY.md"
        known_texts.update(new)
    answer = session.output.strip().splitlines()[-1]
    yield f"  {answer}"


def _find_memory_lines(request: dict[str, Any]) -> list[str]:
    text = next(text for text in _list_texts(request) if OLD in text)
    lines = text.splitlines()
    start = max(at for at, line in enumerate(lines) if line.startswith("## Lessons Learned"))
    return [line for line in lines[start:] if OLD in line or NEW in line or line.startswith("## L")]


def _list_texts(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    for inner in (
        data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    ):
        yield from _list_texts(inner)


def main(clients: list[str]) -> None:
    """Print the transcripts."""
    bin_folder = install_programs()
    for client in clients:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            connection = Connection(client, bin_folder, Path(folder))
            run_sessions(connection)
            print(f"## {client}\n\n{write_transcript(connection)}\n", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
