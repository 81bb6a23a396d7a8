"""`looseleaf system prompts | prompt-get | prompt-set | prompt-reset`: prompts of system tasks."""

from __future__ import annotations

import sys

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, with_shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say, show
from looseleaf.cli.stdin import take_stdin
from looseleaf.operations import task_prompts as operations

task_argument = click.argument("task")
key_argument = click.argument("key")


@command("prompts", "looseleaf system prompts")
@with_shared_options("format")
def prompts(options: SharedOptions) -> None:
    """List the prompts of system tasks.

    The list says which prompts were replaced.
    """
    infos = operations.list_prompts(options.open())
    if options.json:
        print_document({"prompts": to_json_value(infos)})
        return
    rows = [
        (info.task_type, info.prompt_key, info.effective_source, info.description) for info in infos
    ]
    print_table(("TASK", "KEY", "TEXT", "WHAT IT IS FOR"), rows, shrink="WHAT IT IS FOR")


@command("prompt-get", "looseleaf system prompt-get daily_memory_generation daily_memory")
@task_argument
@key_argument
@with_shared_options("format")
def prompt_get(options: SharedOptions, task: str, key: str) -> None:
    """Print a prompt of a task.

    If the prompt was replaced, the replacement is printed.
    """
    info = operations.show_prompt(options.open(), task, key)
    if options.json:
        print_document(to_json_value(info))
    else:
        show(info.effective.encode())


@command(
    "prompt-set",
    "looseleaf system prompt-set daily_memory_generation daily_memory < prompt.md",
)
@task_argument
@key_argument
@click.argument("prompt", default="-")
@with_shared_options("format")
def prompt_set(options: SharedOptions, task: str, key: str, prompt: str) -> None:
    """Replace a prompt of a task.

    Without PROMPT, the text is read from standard input.
    A text without the placeholders and markers that the task needs is refused.
    """
    if prompt == "-":
        take_stdin("prompt")
        prompt = sys.stdin.read()
    info = operations.set_prompt(options.open(), task, key, prompt=prompt)
    if options.json:
        print_document(to_json_value(info))
    else:
        say(f"Replaced the prompt {key} of {task}.")


@command("prompt-reset", "looseleaf system prompt-reset daily_memory_generation daily_memory")
@task_argument
@key_argument
@with_shared_options("format")
def prompt_reset(options: SharedOptions, task: str, key: str) -> None:
    """Return to the built-in text of a prompt."""
    info = operations.reset_prompt(options.open(), task, key)
    if options.json:
        print_document(to_json_value(info))
    else:
        say(f"The prompt {key} of {task} is the built-in one.")
