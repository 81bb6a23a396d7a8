"""Standard input: a command can read only one of its arguments from it."""

from __future__ import annotations

import sys

import click

from looseleaf.errors import Invalid


def take_stdin(purpose: str) -> None:
    """Claim standard input for one purpose; a second claim is refused."""
    if sys.stdin is None:
        raise Invalid(f"Standard input is closed, so there is no {purpose} to read from it.")
    claim = click.get_current_context().meta.setdefault("looseleaf.stdin", purpose)
    if claim != purpose:
        raise click.UsageError(f"Standard input cannot be both the {claim} and the {purpose}.")
