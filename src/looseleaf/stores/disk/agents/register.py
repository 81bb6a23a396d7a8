"""The register of agents: which ids were given, to whom, and who was deleted.

It is `agents/register.json`, outside `.looseleaf`, so that no id is given again if that folder
was lost. The records in the agents' folders are the truth about the agents that exist; the register
remembers the others.
"""

from __future__ import annotations

import json
import os

from looseleaf.errors import Unavailable
from looseleaf.files import atomic
from looseleaf.files.folders import READ, read_all
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from looseleaf.agents.record import AgentRecord

REGISTER = "register.json"
PRESENT, UNFINISHED, DELETED = "present", "unfinished", "deleted"


@value
class RegisterEntry:
    """An agent that has an id: present, deleted, or about to be created when a process died."""

    id: int
    slug: str
    state: str = PRESENT
    deleted: str = ""  # when


class Register:
    """The register as it was read; `write_register` replaces the file."""

    def __init__(self, next_id: int = 1, agents: Iterable[RegisterEntry] = ()) -> None:
        self.next_id = next_id
        self.agents = {entry.id: entry for entry in agents}

    def enter(self, entry: RegisterEntry) -> None:
        """Register an agent, in the place of an earlier entry of its id."""
        self.agents[entry.id] = entry
        self.next_id = max(self.next_id, entry.id + 1)

    def enter_records(self, records: Iterable[AgentRecord]) -> None:
        """Register the agents that have a record: created by hand, renamed, or brought back."""
        for record in records:
            entry = self.agents.get(record.id, RegisterEntry(record.id, ""))
            if (entry.slug, entry.state) != (record.slug, PRESENT):
                self.enter(RegisterEntry(record.id, record.slug))

    def is_present(self, record: AgentRecord) -> bool:
        """Return whether an agent is entered as present."""
        entry = self.agents.get(record.id)
        return entry is not None and entry.state == PRESENT

    def unfinished_entries(self) -> list[RegisterEntry]:
        """List the agents whose creation has not come to its end."""
        return [entry for entry in self.agents.values() if entry.state == UNFINISHED]

    def leave_out(self, agent_id: int) -> None:
        """Drop the entry of an agent that was never finished; its id is not given again."""
        self.agents.pop(agent_id, None)

    def mark_deleted(self, agent_id: int, slug: str, time: str) -> None:
        """Record that an agent was deleted."""
        entry = self.agents.get(agent_id, RegisterEntry(agent_id, slug))
        self.enter(replace(entry, slug=slug, state=DELETED, deleted=time))


def read_register(agents: int) -> Register | None:
    """Read the register in the folder of agents, or None if there is none yet."""
    try:
        fd = os.open(REGISTER, READ, dir_fd=agents)
    except FileNotFoundError:
        return None
    try:
        fields: Any = json.loads(read_all(fd))
        entries = [
            RegisterEntry(int(number), entry["slug"], entry["state"], entry.get("deleted", ""))
            for number, entry in fields["agents"].items()
        ]
        return Register(int(fields["next_id"]), entries)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"agents/{REGISTER} is damaged ({error}); restore it from a backup, or delete it"
        raise Unavailable("The register of agents", reason) from error
    finally:
        os.close(fd)


def write_register(agents: int, register: Register, *, mode: int, staging: tuple[int, str]) -> None:
    """Replace the register in the folder of agents."""
    entries = {}
    for agent in sorted(register.agents.values(), key=lambda entry: entry.id):
        entry = {"slug": agent.slug, "state": agent.state}
        entries[str(agent.id)] = entry | ({"deleted": agent.deleted} if agent.deleted else {})
    fields = {"next_id": register.next_id, "agents": entries}
    content = json.dumps(fields, indent=2).encode() + b"\n"
    atomic.replace(agents, REGISTER, content, mode=mode, staging=staging)


def list_present_agents(folder: str) -> list[RegisterEntry]:
    """List the agents that the register in a folder calls present, by id."""
    try:
        agents = os.open(folder, atomic.FOLDER)
    except FileNotFoundError:
        return []
    try:
        register = read_register(agents) or Register()
    finally:
        os.close(agents)
    entries = sorted(register.agents.values(), key=lambda entry: entry.id)
    return [entry for entry in entries if entry.state == PRESENT]
