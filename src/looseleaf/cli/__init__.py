"""The command line: `looseleaf`."""

from __future__ import annotations

import gc
import sys

# Imports leave no garbage; collecting as often as usual would take a tenth of a cold start.
_COLLECT_EVERY = 50_000


def main(argv: list[str] | None = None) -> int:
    """Run one command, and return its exit code.

    A plain `memory read` and a plain `mcp` take fast paths; click runs everything else.
    """
    if argv is None:
        return _run_process(sys.argv[1:])
    try:
        return _run(argv)
    except KeyboardInterrupt:
        return 130  # during the imports; later each command handles the interrupt


def _run_process(argv: list[str]) -> int:
    """Run the command that the whole process is for."""
    gc.set_threshold(_COLLECT_EVERY)
    try:
        return main(argv)
    finally:
        gc.freeze()  # the process ends now, so no garbage needs to be collected


def _run(argv: list[str]) -> int:
    from looseleaf.cli.argv import move_options

    words = move_options(argv)
    if words[:1] == ["memory"]:
        words = ["memory", *move_options(words[1:])]
    if words[:2] == ["memory", "read"]:
        from looseleaf.cli.fast_read import read

        code = read(words[2:])
        if code is not None:
            return code
    if words[:1] == ["mcp"]:
        from looseleaf.cli.fast_mcp import serve_plain

        code = serve_plain(words[1:])
        if code is not None:
            return code
    from looseleaf.cli.command_line import run

    return run(argv)
