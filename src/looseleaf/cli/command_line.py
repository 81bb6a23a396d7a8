"""The whole command line, and the function that runs a command."""

from __future__ import annotations

import click

from looseleaf.cli.argv import wants_json
from looseleaf.cli.groups import TopGroup
from looseleaf.cli.output import FAILED, USAGE, complain, count_columns, run_command

HELP_WIDTH = 80
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

looseleaf_command = TopGroup(
    "looseleaf", "Persistent memory for AI agents, kept as Markdown pages.", notes=NOTES
)


def run(argv: list[str]) -> int:
    """Run a command through click, and return its exit code."""
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
