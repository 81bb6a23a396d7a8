"""The command line: `looseleaf`."""

from __future__ import annotations

import sys

from looseleaf.cli.words import arranged


def main(argv: list[str] | None = None) -> int:
    """Run one command; give its exit code.

    A plain `memory read` and a plain `mcp` take fast ways; everything else goes to click.
    """
    try:
        return _run(arranged(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        return 130  # while importing; once it runs, a command answers for itself


def _run(words: list[str]) -> int:
    if words[:2] == ["memory", "read"]:
        from looseleaf.cli.hot import read

        code = read(words[2:])
        if code is not None:
            return code
    if words[:1] == ["mcp"]:
        from looseleaf.cli.fast_mcp import serve_plain

        code = serve_plain(words[1:])
        if code is not None:
            return code
    from looseleaf.cli.commands import run

    return run(words)
