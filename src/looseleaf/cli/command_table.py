"""The table of commands, and the function that runs a command."""

from __future__ import annotations

import click

from looseleaf.cli.argv import arrange_options, wants_json
from looseleaf.cli.commands.workflow_entries import FLOWS, JOBS, PIPELINES, SCHEDULES
from looseleaf.cli.groups import DefaultGroup, Entry, Group
from looseleaf.cli.output import FAILED, USAGE, complain, count_columns, run_command

HELP_WIDTH = 80
MEMORY = {
    "read": Entry("commands.memory", "read", "Print a page, or one section of it."),
    "sections": Entry("commands.memory", "sections", "List the sections of a page."),
    "write": Entry("commands.memory", "write", "Set one section of a page, or a whole page."),
    "append": Entry("commands.memory", "append", "Add to the end of a section or of a page."),
    "delete": Entry("commands.memory", "delete", "Delete one section of a page, or a whole page."),
    "clear": Entry("commands.memory", "clear", "Empty a page, core pages too."),
    "search": Entry(
        "commands.search", "search", "Find a text in pages, or the pages about some words."
    ),
    "daily": Entry("command_table", "daily", "The journal: one page a day."),
    "files": Entry("commands.files", "files", "List the pages, and say which are stale."),
    "paths": Entry("commands.files", "paths", "Show the paths of the pages of a prompt."),
    "compose": Entry("commands.files", "compose", "Compose the generated pages again."),
    "history": Entry("commands.history", "history", "List the revisions of a page, newest first."),
    "diff": Entry("commands.history", "diff", "Compare two versions of a page."),
    "restore": Entry("commands.history", "restore", "Restore an earlier version of a page."),
    "purge": Entry("commands.history", "purge", "Remove one prior version for good."),
    "lint": Entry("commands.lint", "lint", "Find problems in pages, and mend them."),
    "prune": Entry("commands.history", "prune", "Drop versions that retention does not keep."),
    "export": Entry("commands.page_export", "export", "Write the pages as files to a folder."),
    "publish": Entry("commands.page_export", "publish", "Put memory into AGENTS.md or CLAUDE.md."),
    "pack": Entry("commands.history", "pack", "Put old versions into compressed files."),
}
DAILY = {
    "list": Entry("commands.daily", "list_days", "List the days that have a page, newest first."),
    "read": Entry("commands.daily", "read", "Print one day; without a date, today."),
    "write": Entry("commands.daily", "write", "Replace one day; without a date, today."),
    "append": Entry("commands.daily", "append", "Add to one day; without a date, today."),
    "delete": Entry("commands.daily", "delete", "Delete one day."),
    "search": Entry("commands.daily", "search", "Find a text in the journal, newest day first."),
}
AGENTS = {
    "list": Entry("commands.agents", "list_agents", "List every agent."),
    "create": Entry("commands.agents", "create", "Create an agent and start its pages."),
    "show": Entry("commands.agents", "show", "Show one agent and its configuration."),
    "rename": Entry("commands.agents", "rename", "Give an agent another slug."),
    "configure": Entry("commands.agents", "configure", "Set keys of an agent's configuration."),
    "activate": Entry("commands.agents", "activate", "Make an agent active."),
    "deactivate": Entry("commands.agents", "deactivate", "Make an agent inactive."),
    "archive": Entry("commands.agents", "archive", "Archive an agent."),
    "delete": Entry("commands.agents", "delete", "Delete an agent, and with --files its pages."),
    "restore": Entry("commands.agents", "restore", "Restore a deleted agent."),
}
BUNDLES = {
    "export": Entry("commands.bundles", "export", "Write an agent as a folder or a zip archive."),
    "inspect": Entry(
        "commands.bundle_checks",
        "inspect",
        "Show the content of a bundle, and whether it fits here.",
    ),
    "plan": Entry("commands.bundles", "plan", "Show the changes that a bundle would make."),
    "install": Entry(
        "commands.bundles", "install", "Create the agent of a bundle, whole or not at all."
    ),
    "upgrade": Entry(
        "commands.bundles", "upgrade", "Bring an agent to a newer version of its bundle."
    ),
    "validate": Entry("commands.bundle_checks", "validate", "Say whether a bundle can run here."),
    "rebase": Entry(
        "commands.bundle_checks", "rebase", "Preview how a bundle and local changes would merge."
    ),
    "status": Entry(
        "commands.bundle_checks", "status", "Say whether an agent has a bundle's version."
    ),
    "pending": Entry(
        "commands.bundle_approvals", "pending", "Show the parts that wait for approval."
    ),
    "approve": Entry("commands.bundle_approvals", "approve", "Apply parts that wait for approval."),
    "reject": Entry("commands.bundle_approvals", "reject", "Reject parts that wait for approval."),
    "list": Entry("commands.bundles", "list_bundles", "List the agents that came from bundles."),
    "show": Entry(
        "commands.bundles",
        "show_bundle",
        "Show the bundle of an agent, and its parts that were changed here.",
    ),
}
PROMPT = {
    "show": Entry("commands.prompt", "show_prompt", "Print the prompt of an agent."),
    "explain": Entry(
        "commands.prompt",
        "explain",
        "List the parts of a prompt, and the rule that decided each.",
    ),
    "diff": Entry(
        "commands.prompt", "diff", "Compare two prompts and name the first byte that differs."
    ),
    "check": Entry(
        "commands.prompt_check", "check", "Check a prompt against its budgets, and its pages."
    ),
}
PLUGINS = {
    "list": Entry(
        "commands.plugins", "list_plugins", "List the plugins, and what each registered."
    ),
}
USERS = {
    "list": Entry("commands.users", "list_users", "List every user."),
    "show": Entry("commands.users", "show", "Show one user."),
    "create": Entry("commands.users", "create", "Create a user."),
    "update": Entry("commands.users", "update", "Change the fields of a user."),
}
GRANTS = {
    "list": Entry("commands.users", "list_grants", "List who has which role on an agent."),
    "give": Entry("commands.users", "give", "Give a user a role on an agent."),
    "take": Entry("commands.users", "take", "Remove a user's role on an agent."),
}
TOKENS = {
    "create": Entry("commands.tokens", "create", "Create a token for an agent or a user."),
    "password": Entry("commands.tokens", "password", "Create a password for a program."),
    "login": Entry("commands.tokens", "login", "Create a code to sign in with once."),
    "list": Entry(
        "commands.tokens", "list_tokens", "List tokens, application passwords and sessions."
    ),
    "revoke": Entry("commands.tokens", "revoke", "End a token, password or session at once."),
}
SETTINGS = {
    "list": Entry(
        "commands.settings", "list_settings", "List every setting and where it comes from."
    ),
    "set": Entry("commands.settings", "set_setting", "Change a setting while the server runs."),
    "unset": Entry("commands.settings", "unset", "Return to the value of the settings file."),
}
AUDIT = {
    "list": Entry("commands.audit", "list_audit", "List the entries of the audit, newest first."),
    "verify": Entry("commands.audit", "verify", "Check that nothing in the audit was changed."),
}
SYSTEM = {
    "status": Entry("commands.system", "status", "Show the condition of the system tasks."),
    "tasks": Entry("commands.system", "tasks", "List the system tasks and the condition of each."),
    "run": Entry("commands.system", "run", "Run a system task now, for one agent or for all."),
    "runs": Entry("commands.system", "runs", "List the newest runs of system tasks."),
    "prompts": Entry("commands.system_prompts", "prompts", "List the prompts of system tasks."),
    "prompt-get": Entry("commands.system_prompts", "prompt_get", "Print a prompt of a task."),
    "prompt-set": Entry("commands.system_prompts", "prompt_set", "Replace a prompt of a task."),
    "prompt-reset": Entry(
        "commands.system_prompts", "prompt_reset", "Return to the built-in text of a prompt."
    ),
}
UPKEEP = {
    "preview": Entry("commands.upkeep", "preview", "Show what a run would do, and write nothing."),
    "run": Entry("commands.upkeep", "run", "Keep MEMORY.md within its budget, now."),
    "log": Entry("commands.upkeep", "log", "List the runs of an agent, newest first."),
    "show": Entry(
        "commands.upkeep", "show_run", "Show a run: its reason, and where each line went."
    ),
    "undo": Entry("commands.upkeep", "undo", "Undo a run, page and journal together."),
}
RETENTION = {
    "show": Entry("commands.retention", "show", "Say how long each kind of data is kept."),
    "preview": Entry(
        "commands.retention", "preview", "Count the data past its retention; remove nothing."
    ),
    "run": Entry("commands.retention", "run", "Remove the data that is past its retention."),
}
TOOLS = {
    "export": Entry("commands.tools", "export", "Print every tool as JSON."),
}
CHAT = {
    "talk": Entry("commands.chat", "talk", "Talk to an agent, line by line or one message."),
    "list": Entry("commands.sessions", "list_sessions", "List the sessions, newest first."),
    "show": Entry("commands.sessions", "show_session", "Print the messages of a session."),
    "search": Entry("commands.sessions", "search", "Find a text in messages."),
    "rename": Entry("commands.sessions", "rename", "Give a session another title."),
    "title": Entry("commands.sessions", "title", "Let the model give a session a title."),
    "finish": Entry("commands.sessions", "finish", "End a session, and sum it up if configured."),
    "cancel": Entry("commands.sessions", "cancel", "Stop the running answer of a session."),
    "export": Entry("commands.sessions", "export", "Print a session as a page or as JSON."),
    "delete": Entry("commands.sessions", "delete", "Delete a session for good."),
    "prune": Entry("commands.sessions", "prune", "Delete the sessions past their retention."),
}
BACKUP = {
    "create": Entry("commands.backup", "create", "Write a backup; others may write at the time."),
    "list": Entry("commands.backup", "list_backups", "List the backups, newest first."),
    "verify": Entry("commands.backup", "verify", "Read a whole backup, and compare every hash."),
    "commit": Entry("commands.backup", "commit", "Commit the pages that changed to git."),
}
TOP = {
    "init": Entry("commands.setup", "init", "Make a folder a workspace."),
    "status": Entry(
        "commands.status", "status", "Show the workspace, agent, server and version in use."
    ),
    "memory": Entry("command_table", "memory", "Read, change and search an agent's memory."),
    "prompt": Entry("command_table", "prompt", "The prompt of an agent, and the rules behind it."),
    "chat": Entry("command_table", "chat", "Talk to an agent, and find its sessions."),
    "pipelines": Entry("command_table", "pipelines", "Reusable workflows of an agent."),
    "flows": Entry("command_table", "flows", "Configured and scheduled uses of a pipeline."),
    "jobs": Entry("command_table", "jobs", "Durable runs of flows and tasks."),
    "schedules": Entry("command_table", "schedules", "The schedules of flows and tasks."),
    "agents": Entry("command_table", "agents", "The agents of the workspace."),
    "import": Entry("commands.imports", "import_memory", "Import the memory of another system."),
    "bundles": Entry("command_table", "bundles", "An agent as files: export, install, upgrade."),
    "plugins": Entry("command_table", "plugins", "The plugins of the workspace."),
    "users": Entry("command_table", "users", "The people who may act here."),
    "grants": Entry("command_table", "grants", "The roles of users on agents."),
    "tokens": Entry("command_table", "tokens", "The credentials of agents and programs."),
    "settings": Entry("command_table", "settings", "The settings and their sources."),
    "audit": Entry("command_table", "audit", "The record of who did what."),
    "upkeep": Entry("command_table", "upkeep", "Keep MEMORY.md lean, without losing a line."),
    "retention": Entry("command_table", "retention", "How long data is kept; removing older data."),
    "system": Entry("command_table", "system", "The system tasks, which run by themselves."),
    "serve": Entry(
        "commands.serve",
        "serve",
        "Run the server: the admin site for people, REST and MCP for programs.",
    ),
    "work": Entry("commands.work", "work", "Run jobs and schedules without a server."),
    "mcp": Entry("commands.mcp", "mcp", "Memory for programs that speak MCP."),
    "tools": Entry("command_table", "tools", "The tools that models may use."),
    "backup": Entry("command_table", "backup", "Back up the workspace, and see the backups."),
    "restore": Entry("commands.backup", "restore", "Restore a backup to a new folder."),
    "doctor": Entry("commands.doctor", "doctor", "Check the workspace, and say what to do."),
    "completion": Entry(
        "commands.setup", "completion", "Print the script that completes commands in a shell."
    ),
}
NOTES = """\
Options before or after any command that takes them:
--root FOLDER    the workspace; else LOOSELEAF_ROOT, the nearest above, your own
--agent ID|SLUG  the agent; else LOOSELEAF_AGENT, the default or the only one
--format json    one JSON document instead of text for people
--help           what a command does, with examples

On a server instead of a folder of this machine:
--remote URL       its address; else LOOSELEAF_REMOTE
--token-file FILE  a file with the token, or - for standard input;
                   else LOOSELEAF_TOKEN
--token TOKEN      the token itself, which every user of this machine can see
--insecure         allow plain http to another machine

Exit codes:
0    done
1    failed for another reason
2    wrong usage, or an invalid value
3    not found, or ambiguous
4    refused
5    conflict: the page has changed
6    not available now: locked, disk full
7    a part is not installed: the message has the line to type
130  interrupted"""

daily = Group("daily", DAILY, "The daily journal of an agent: one page a day, in UTC.")
memory = Group("memory", MEMORY, "Read, change and search an agent's memory.")
prompt = Group(
    "prompt", PROMPT, "The prompt of an agent: how memory reaches a model, and by which rules."
)
chat = DefaultGroup("chat", CHAT, "Talk to an agent, and find its sessions.")
pipelines = Group("pipelines", PIPELINES, "Reusable workflows of an agent, and their memory.")
flows = Group("flows", FLOWS, "Configured and scheduled uses of a pipeline.")
jobs = Group("jobs", JOBS, "Durable runs of flows and tasks.")
schedules = Group(
    "schedules", SCHEDULES, "The schedules of flows and tasks, with their next times."
)
agents = Group("agents", AGENTS, "The agents of the workspace.")
bundles = Group("bundles", BUNDLES, "An agent as files: export, inspect, install, upgrade.")
plugins = Group("plugins", PLUGINS, "The plugins of the workspace.")
users = Group("users", USERS, "The people who may act here, and what they may do.")
grants = Group("grants", GRANTS, "The roles of users on agents.")
tokens = Group("tokens", TOKENS, "The credentials of agents, programs and people.")
settings = Group(
    "settings", SETTINGS, "The settings, their sources, and changes while the server runs."
)
audit = Group("audit", AUDIT, "The record of who did what, and a check that it is unchanged.")
upkeep = Group("upkeep", UPKEEP, "Keep MEMORY.md within its budget, without losing a line.")
retention = Group("retention", RETENTION, "How long data is kept; removing older data.")
system = Group("system", SYSTEM, "The system tasks, which run by themselves, and their prompts.")
backup = DefaultGroup("backup", BACKUP, "Back up the workspace, and see the backups.")
tools = Group("tools", TOOLS, "The tools that models may use.")


class Top(Group):
    """The whole command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Allow shared options before the command, for completion too."""
        return super().parse_args(ctx, arrange_options(args))


looseleaf_command = Top(
    "looseleaf", TOP, "Persistent memory for AI agents, kept as Markdown pages.", NOTES
)


def run(argv: list[str]) -> int:
    """Run a command through click; give its exit code."""
    as_json = wants_json(argv)

    def work() -> int:
        try:
            width = min(count_columns(), HELP_WIDTH)
            if not argv:  # a shell that completes passes no arguments
                looseleaf_command.main([], "looseleaf", standalone_mode=False, terminal_width=width)
                return 0
            with looseleaf_command.make_context("looseleaf", argv, terminal_width=width) as ctx:
                looseleaf_command.invoke(ctx)
        except click.exceptions.Exit as exit_request:
            return exit_request.exit_code
        except click.UsageError as error:
            command_path = error.ctx.command_path if error.ctx else "looseleaf"
            complain(f"{error.format_message()} Try: {command_path} --help", as_json=as_json)
            return USAGE
        except click.ClickException as error:
            complain(error.format_message(), as_json=as_json)
            return FAILED
        return 0

    return run_command(work, as_json=as_json)
