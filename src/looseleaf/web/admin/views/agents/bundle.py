"""An agent as a bundle: the files of a profile, the archive, and the bundle it came from."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING

from looseleaf.bundles.profiles import PROFILES
from looseleaf.errors.bundles import BundleMissing
from looseleaf.plugins.admin_pages import Document, Download, Redirect

if TYPE_CHECKING:
    from looseleaf.operations.bundles import BundleArchive, BundlePreview
    from looseleaf.operations.installed_bundles import InstalledBundle
    from looseleaf.plugins.admin_pages import Visit

MOST_FILES = 200
PROFILE_WORDS = {
    "share": "SOUL.md, configuration, pipelines and flows",
    "backup": "Everything it remembers, the journal and USER.md too",
    "fork": "As share, without the settings of flows",
}


def preview_export(visit: Visit) -> Document | Redirect:
    """Show what an export by a profile would include, and which lines look like secrets."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    profile = _profile_of(visit)
    preview: BundlePreview = visit.run(
        "looseleaf/preview-bundle", agent=agent.slug, profile=profile
    )
    data = {
        "agent": agent,
        "profile": profile,
        "profiles": PROFILE_WORDS,
        "preview": preview,
        "files": preview.files[:MOST_FILES],
        "installed": _find_installed(visit, agent.slug),
    }
    return Document("agents/bundle.html", "Export", data)


def download_bundle(visit: Visit) -> Document | Redirect | Download:
    """Return the archive; files that look like secrets are included only if the form says so."""
    archive: BundleArchive = visit.run(
        "looseleaf/export-bundle",
        agent=visit.parameters["agent"],
        profile=_profile_of(visit),
        allow_secrets=visit.query.get("allow_secrets") == "yes",
    )
    name = f"{archive.bundle_slug}-{archive.bundle_version}-{archive.profile}.zip"
    return Download(name, "application/zip", b64decode(archive.data))


def _profile_of(visit: Visit) -> str:
    profile = visit.query.get("profile", "share")
    return profile if profile in PROFILES else "share"


def _find_installed(visit: Visit, agent: str) -> InstalledBundle | None:
    try:
        bundle: InstalledBundle = visit.run("looseleaf/show-bundle", agent=agent)
    except BundleMissing:
        return None
    return bundle
