"""Make the archive of a workspace by the command of one version, for later versions to open.

Run by hand, once for a version whose workspaces must stay readable:

    python -m tests.compatibility.make_workspace path/to/looseleaf tests/compatibility/NAME.tar.gz

It uses the command line alone, so that it works with every version.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ENVIRONMENT = {"LOOSELEAF_ACTOR": "operator", "PATH": os.defpath, "NO_COLOR": "1"}
CALL = '/call agent_memory {"action": "append", "section": "Facts", "content": "- likes tea"}'
LEFT_OUT = ("index", "staging")  # caches, and what belongs to no page


class Maker:
    """Runs one version's command in one workspace."""

    def __init__(self, command: str, root: Path) -> None:
        self._command, self._root = command, root

    def run(self, *words: str, text: str = "") -> str:
        """Run a command that must succeed; return what it prints."""
        result = subprocess.run(
            [self._command, *words],
            cwd=self._root,
            env=ENVIRONMENT,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise SystemExit(f"{words}: {result.stderr}")
        return result.stdout

    def make(self) -> None:
        """Fill the workspace."""
        self.run("init", ".", "--name", "House", "--agent", "ada", "--journal")
        self.run("agents", "create", "bob")
        self.run("agents", "create", "carol")
        self.run("agents", "delete", "carol", "--files", "--yes")
        self._change_pages()
        self._change_accounts()
        self._talk()
        # Nobody has noticed this edit yet.
        (self._root / "agents" / "bob" / "MEMORY.md").write_text("# Memory\n\nby an editor\n")

    def _change_pages(self) -> None:
        ada = ("--agent", "ada")
        notes = self._root / "agents" / "ada" / "notes.md"
        for number in (1, 2, 3):
            self.run("memory", "write", "notes.md", "--page", f"note {number}\n", *ada)
        notes.write_text("note 4, by an editor\n")
        self.run("memory", "append", "notes.md", "--page", "note 5", *ada, "--reason", "to add")
        self.run("memory", "restore", "notes.md", "2", *ada)
        self.run("memory", "purge", "notes.md", "3", "--yes", "--reason", "a secret", *ada)
        self.run("memory", "write", "gone.md", "--page", "soon gone\n", *ada)
        self.run("memory", "delete", "gone.md", "--page", *ada)
        self.run("memory", "append", "Lessons Learned", "- Ask first", "--agent", "bob")
        self.run("memory", "daily", "append", "2026-04-17", "Moved in.", *ada)

    def _change_accounts(self) -> None:
        self.run("users", "create", "eve", "--can", "chat", "--reason", "a new colleague")
        self.run("grants", "give", "ada", "eve", "operator")
        self.run("tokens", "create", "--agent", "ada", "--label", "laptop")
        self.run("settings", "set", "daily_memory_enabled", "true")
        self._speak_mcp()

    def _speak_mcp(self) -> None:
        client_info = {"name": "some-editor", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client_info}
        fact = {"section": "Facts", "content": "- has a cat"}
        calls = [
            {"name": "append_agent_memory", "arguments": fact},
            {"name": "update_agent_memory", "arguments": {**fact, "file": "SOUL.md"}},  # refused
        ]
        requests = [("initialize", hello), *(("tools/call", call) for call in calls)]
        lines = [
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            for number, (method, params) in enumerate(requests, 1)
        ]
        self.run("mcp", "--agent", "ada", text="\n".join(lines) + "\n")

    def _talk(self) -> None:
        self.run("chat", "Good morning", "--agent", "ada", "--model", "echo")
        self.run("chat", CALL, "--agent", "ada", "--model", "echo")


def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave the names of users out of the archive, and caches."""
    if any(f"/.looseleaf/{name}" in f"/{member.name}" for name in LEFT_OUT):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def main(command: str, archive: str) -> None:
    """Create a workspace and put it into an archive."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "memory"
        root.mkdir()
        Maker(os.path.abspath(command), root).make()
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(root, "memory", filter=without_owner)


if __name__ == "__main__":
    main(*sys.argv[1:])
