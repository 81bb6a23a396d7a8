"""The table of commands, and how one of them is run."""

from __future__ import annotations

import click

from looseleaf.cli.groups import DefaultGroup, Entry, Group
from looseleaf.cli.output import FAILED, USAGE, answered, columns, complain
from looseleaf.cli.words import arranged, wants_json

HELP_WIDTH = 80
MEMORY = {
    "read": Entry("memory", "read", "Print a page, or one section of it."),
    "sections": Entry("memory", "sections", "List the sections of a page."),
    "write": Entry("memory", "write", "Set one section of a page, or a whole page."),
    "append": Entry("memory", "append", "Add to the end of a section or of a page."),
    "delete": Entry("memory", "delete", "Delete one section of a page, or a whole page."),
    "clear": Entry("memory", "clear", "Empty a page, core pages too."),
    "search": Entry("search", "search", "Find a text in pages, or the pages about some words."),
    "daily": Entry("commands", "daily", "The journal: one page a day."),
    "files": Entry("files", "files", "List the pages there are, and which are stale."),
    "paths": Entry("files", "paths", "Show where the pages of a prompt lie on disk."),
    "compose": Entry("files", "compose", "Make the generated pages anew."),
    "history": Entry("history", "history", "List what a page was, newest first."),
    "diff": Entry("history", "diff", "Compare two versions of a page."),
    "restore": Entry("history", "restore", "Make a page say again what it said."),
    "purge": Entry("history", "purge", "Remove one prior version for good."),
    "prune": Entry("history", "prune", "Drop the versions that need not be kept."),
}
DAILY = {
    "list": Entry("daily", "list_days", "List the days that have a page, newest first."),
    "read": Entry("daily", "read", "Print one day; without a date, today."),
    "write": Entry("daily", "write", "Replace one day; without a date, today."),
    "append": Entry("daily", "append", "Add to one day; without a date, today."),
    "delete": Entry("daily", "delete", "Delete one day."),
    "search": Entry("daily", "search", "Find a text in the journal, newest day first."),
}
AGENTS = {
    "list": Entry("agents", "list_agents", "List every agent."),
    "create": Entry("agents", "create", "Create an agent and start its pages."),
    "show": Entry("agents", "show", "Show one agent and its configuration."),
    "rename": Entry("agents", "rename", "Give an agent another slug."),
    "configure": Entry("agents", "configure", "Set keys of an agent's configuration."),
    "activate": Entry("agents", "activate", "Make an agent active."),
    "deactivate": Entry("agents", "deactivate", "Switch an agent off."),
    "archive": Entry("agents", "archive", "Put an agent away."),
    "delete": Entry("agents", "delete", "Delete an agent, and its pages if told."),
    "restore": Entry("agents", "restore", "Bring a deleted agent back."),
}
PROMPT = {
    "show": Entry("prompt", "show_prompt", "Print what an agent is given before the conversation."),
    "explain": Entry(
        "prompt", "explain", "List what was considered for a prompt, and which rule decided."
    ),
    "diff": Entry("prompt", "diff", "Compare two prompts and name the first byte that differs."),
    "check": Entry("prompt_check", "check", "Check a prompt against its budgets, and its pages."),
}
PLUGINS = {
    "list": Entry("plugins", "list_plugins", "List the plugins, and what each registered."),
}
USERS = {
    "list": Entry("users", "list_users", "List every user."),
    "show": Entry("users", "show", "Show one user."),
    "create": Entry("users", "create", "Create a user."),
    "update": Entry("users", "update", "Change what is known of a user."),
}
GRANTS = {
    "list": Entry("users", "list_grants", "List who has which role on an agent."),
    "give": Entry("users", "give", "Give a user a role on an agent."),
    "take": Entry("users", "take", "Take a user's role on an agent away."),
}
TOKENS = {
    "create": Entry("tokens", "create", "Make a token for an agent or a user."),
    "password": Entry("tokens", "password", "Make a password for a program."),
    "login": Entry("tokens", "login", "Make a code to sign in with once."),
    "list": Entry("tokens", "list_tokens", "List tokens, application passwords and sessions."),
    "revoke": Entry("tokens", "revoke", "End a token, password or session at once."),
}
SETTINGS = {
    "list": Entry("settings", "list_settings", "List every setting and where it comes from."),
    "set": Entry("settings", "set_setting", "Make a setting while the server is running."),
    "unset": Entry("settings", "unset", "Go back to what the settings file says."),
}
AUDIT = {
    "list": Entry("audit", "list_audit", "List what was done, newest first."),
    "verify": Entry("audit", "verify", "Check that nothing in the audit was changed."),
}
TOOLS = {
    "export": Entry("tools", "export", "Print every tool as JSON."),
}
CHAT = {
    "talk": Entry("talk", "talk", "Talk to an agent, line by line or one message."),
    "list": Entry("chat", "list_sessions", "List the sessions, newest first."),
    "show": Entry("chat", "show_session", "Print what was said in a session."),
    "search": Entry("chat", "search", "Find a text in what was said."),
    "rename": Entry("chat", "rename", "Give a session another title."),
    "title": Entry("chat", "title", "Have the model give a session a title."),
    "finish": Entry("chat", "finish", "End a session; the journal may tell of it."),
    "cancel": Entry("chat", "cancel", "Stop the answer that is being given."),
    "export": Entry("chat", "export", "Print a session as a page or as JSON."),
    "delete": Entry("chat", "delete", "Delete a session for good."),
    "prune": Entry("chat", "prune", "Delete the sessions that need not be kept."),
}
TOP = {
    "init": Entry("setup", "init", "Make a folder a workspace."),
    "status": Entry(
        "status", "status", "Say which workspace, agent, server and version you are on."
    ),
    "memory": Entry("commands", "memory", "Read, change and search an agent's memory."),
    "prompt": Entry("commands", "prompt", "What an agent is given, and why."),
    "chat": Entry("commands", "chat", "Talk to an agent, and find what was said."),
    "agents": Entry("commands", "agents", "The agents of the workspace."),
    "plugins": Entry("commands", "plugins", "Who extends this workspace, and by what."),
    "users": Entry("commands", "users", "The people who may act here."),
    "grants": Entry("commands", "grants", "Who has which role on which agent."),
    "tokens": Entry("commands", "tokens", "What agents and programs show to act here."),
    "settings": Entry("commands", "settings", "What is set, and from where."),
    "audit": Entry("commands", "audit", "Who did what."),
    "serve": Entry("serve", "serve", "Run the server: REST, and a way in for people."),
    "mcp": Entry("mcp", "mcp", "Memory for programs that speak MCP."),
    "tools": Entry("commands", "tools", "What models may do, as tools."),
    "doctor": Entry("doctor", "doctor", "Check the workspace, and say what to do."),
    "completion": Entry(
        "setup", "completion", "Print the script that completes commands in a shell."
    ),
}
NOTES = """\
Before or after any command that takes them:
--root FOLDER    the workspace; else LOOSELEAF_ROOT, the nearest above, your own
--agent ID|SLUG  the agent; else LOOSELEAF_AGENT, the default or the only one
--format json    one JSON document instead of text for people
--help           what a command does, with examples

On a server instead of in a folder of this machine:
--remote URL       where it is; else LOOSELEAF_REMOTE
--token-file FILE  what to show it, - is standard input; else LOOSELEAF_TOKEN
--token TOKEN      the same, seen by all who can list this machine's processes
--insecure         allow plain http to another machine

Exit codes:
0    done
1    failed for another reason than these
2    wrong usage, or a value that cannot be
3    not found, or ambiguous
4    refused
5    conflict: the page has changed
6    not available now: locked, disk full
130  interrupted"""

daily = Group("daily", DAILY, "The daily journal of an agent: one page a day, in UTC.")
memory = Group("memory", MEMORY, "Read, change and search an agent's memory.")
prompt = Group("prompt", PROMPT, "How memory reaches a model: what an agent is given, and why.")
chat = DefaultGroup("chat", CHAT, "Talk to an agent, and find what was said.")
agents = Group("agents", AGENTS, "The agents of the workspace: who remembers.")
plugins = Group("plugins", PLUGINS, "Who extends this workspace, and by what.")
users = Group("users", USERS, "The people who may act here, and what they may do.")
grants = Group("grants", GRANTS, "Who has which role on which agent.")
tokens = Group("tokens", TOKENS, "What agents, programs and people show to act here.")
settings = Group("settings", SETTINGS, "What is set, from where, and what can be set now.")
audit = Group("audit", AUDIT, "Who did what, and whether nothing of it was changed.")
tools = Group("tools", TOOLS, "What models may do, as tools.")


class Top(Group):
    """The whole command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let shared options stand before the command, when completing too."""
        return super().parse_args(ctx, arranged(args))


looseleaf_command = Top(
    "looseleaf", TOP, "Persistent memory for AI agents, kept as Markdown pages.", NOTES
)


def run(words: list[str]) -> int:
    """Run a command through click; give its exit code."""
    as_json = wants_json(words)

    def work() -> int:
        try:
            width = min(columns(), HELP_WIDTH)
            if not words:  # a shell that asks for completions gives no arguments
                looseleaf_command.main([], "looseleaf", standalone_mode=False, terminal_width=width)
                return 0
            with looseleaf_command.make_context("looseleaf", words, terminal_width=width) as ctx:
                looseleaf_command.invoke(ctx)
        except click.exceptions.Exit as end:
            return end.exit_code
        except click.UsageError as error:
            asked = error.ctx.command_path if error.ctx else "looseleaf"
            complain(f"{error.format_message()} Try: {asked} --help", as_json=as_json)
            return USAGE
        except click.ClickException as error:
            complain(error.format_message(), as_json=as_json)
            return FAILED
        return 0

    return answered(work, as_json=as_json)
