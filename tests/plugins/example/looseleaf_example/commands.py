"""The command of the example: `looseleaf style`."""

from __future__ import annotations

from looseleaf import Shelf
from looseleaf.cli.arguments import SharedOptions, with_shared_options
from looseleaf.cli.command_line import command
from looseleaf.cli.output import print_text


@command("style", "looseleaf style")
@with_shared_options()
def style(options: SharedOptions) -> None:
    """Print the style guide."""
    print_text(options.open().pages.text(Shelf("shared").page("style-guide.md")))
