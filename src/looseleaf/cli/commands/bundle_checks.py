"""`looseleaf bundles …`: the content of a bundle, whether it fits, drift, a preview of a merge."""

from __future__ import annotations

import click

from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, with_shared_options
from looseleaf.cli.commands.bundles import diff_option, read_source, slug_option, source_argument
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say, show
from looseleaf.operations import bundle_comparisons, bundles

COMPATIBILITY = (
    *("compatible", "status", "problems", "required_capabilities", "host_capabilities"),
    *("unsupported_capabilities", "unknown_artifact_types", "unsupported_artifacts"),
)


@command("inspect", "looseleaf bundles inspect ada.zip", "looseleaf bundles inspect ada-bundle")
@source_argument
@with_shared_options("format")
def inspect(options: SharedOptions, source: str) -> None:
    """Show the content of a bundle, and whether it fits here.

    Exits with 1 if the bundle cannot be installed.
    """
    report = bundles.inspect_bundle(options.open(), read_source(source))
    if options.json:
        print_document(to_json_value(report))
    else:
        say(f"{report.bundle_slug} {report.bundle_version}: agent {report.agent} ({report.label})")
        print_table(("PATH", "BYTES"), [(file.path, file.bytes) for file in report.files])
        for problem in report.problems:
            say(f"It cannot be installed here: {problem}")
        if report.compatible:
            say("It can be installed here: looseleaf bundles install " + source)
    if not report.compatible:
        raise click.exceptions.Exit(1)


@command("validate", "looseleaf bundles validate ada.zip")
@source_argument
@with_shared_options("format")
def validate(options: SharedOptions, source: str) -> None:
    """Say whether a bundle can run here.

    Exits with 1 if it cannot.
    """
    report = bundles.inspect_bundle(options.open(), read_source(source))
    if options.json:
        print_document(to_json_value({name: getattr(report, name) for name in COMPATIBILITY}))
    else:
        say(f"{report.bundle_slug} {report.bundle_version} is {report.status}.")
        for problem in report.problems:
            say(problem)
        for name in report.unknown_artifact_types:
            say(f"Kept and not used here: {name}/")
    if not report.compatible:
        raise click.exceptions.Exit(1)


@command("rebase", "looseleaf bundles rebase ada.zip --diff")
@source_argument
@diff_option
@with_shared_options("agent", "format")
def rebase(options: SharedOptions, source: str, *, diff: bool) -> None:
    """Preview how a bundle and local changes would merge.

    Pages merge by section, JSON by key. Where both sides changed the same part, the local side
    stays.
    """
    result = bundle_comparisons.rebase_bundle(
        options.open(), read_source(source), agent=options.agent
    )
    if options.json:
        print_document(to_json_value(result))
        return
    if not result.entries:
        say(f"{result.agent} has nothing to merge with {result.bundle_slug}.")
        return
    rows = [(entry.key, entry.state, ", ".join(entry.conflicts)) for entry in result.entries]
    print_table(("KEY", "STATE", "CONFLICTS"), rows)
    for entry in result.entries:
        if diff and entry.diff:
            show(f"\n{entry.key}\n{entry.diff}\n".encode())


@command("status", "looseleaf bundles status ada.zip")
@source_argument
@slug_option
@with_shared_options("format")
def status(options: SharedOptions, source: str, *, slug: str) -> None:
    """Say whether an agent has a bundle's version.

    Exits with 1 if it does not.
    """
    result = bundle_comparisons.show_bundle_status(options.open(), read_source(source), slug=slug)
    if options.json:
        print_document(to_json_value(result))
    else:
        installed_title = (
            f"{result.installed_slug} {result.installed_version}".strip() or "no bundle"
        )
        say(f"{result.agent}: {result.status} ({installed_title} is installed)")
        for key in result.changed if result.installed_slug else ():
            say(f"Differs: {key}")
    if result.status != "current":
        raise click.exceptions.Exit(1)
