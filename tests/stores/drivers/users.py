"""Acts as several users by turns: `[user, group, act, name]` a line, in the folder it gets.

Another user can often not start our Python, nor read what it imports. So everything is imported
first, by acting in a folder of one's own; then each act is done in a child that becomes the user.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

from looseleaf import Workspace
from looseleaf.memory.scope import Where
from looseleaf.operations import agents, memory, search, tokens

ADA = Where("ada")


def begin(root: Path, _name: str) -> None:
    """Make the folder a workspace, as `looseleaf init` does."""
    Workspace.create(root, agent="ada").close()


def work(root: Path, name: str) -> None:
    """Change pages that exist, and add new ones."""
    workspace = Workspace.open(root)
    context = workspace.context
    for number in range(3):
        memory.append_page(context, "MEMORY.md", f"- {name} {number}", where=ADA)
    memory.write_page(context, "shared.md", name, where=ADA)
    memory.write_page(context, f"{name}/own.md", name, where=ADA)
    agents.create_agent(context, name)
    agents.configure_agent(context, "ada", {"tone": name})
    agents.rename_agent(context, name, f"{name}-agent")
    agents.delete_agent(context, f"{name}-agent", files=True)
    agents.restore_agent(context, f"{name}-agent")
    tokens.create_token(context, agent="ada", label=name)
    assert search.search(context, "- first", where=ADA).total
    workspace.close()


def look(root: Path, _name: str) -> None:
    """Read a page."""
    workspace = Workspace.open(root)
    memory.read_memory(workspace.context, "MEMORY.md", where=ADA)


ACTS = {"begin": begin, "work": work, "look": look}


def run_child(user: int, group: int, act: str, root: Path, name: str) -> None:
    """Become the user, for good, and act."""
    code = 1
    try:
        os.setgroups([group] if group else [])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        os.umask(0o022)
        ACTS[act](root, name)
        code = 0
    except BaseException:  # noqa: BLE001 - the test shows what it was
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(code)


def main(root: Path) -> None:
    """Do what each line says; the answer is how the child ended."""
    with tempfile.TemporaryDirectory() as folder:
        begin(Path(folder), "")
        work(Path(folder), "first")
        look(Path(folder), "")
    for line in sys.stdin:
        user, group, act, name = json.loads(line)
        pid = os.fork()
        if pid == 0:
            run_child(user, group, act, root, name)
        print(os.waitpid(pid, 0)[1], flush=True)  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main(Path(sys.argv[1]))
