"""Bundles: the agents that came from bundles, and the plan of an install or upgrade."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

from looseleaf.errors import Invalid
from looseleaf.errors.features import BundleMissing
from looseleaf.features.bundles.artifacts import PROFILES
from looseleaf.plugins.admin_pages import Document, Download, Redirect

if TYPE_CHECKING:
    from looseleaf.features.bundles.install_operations import (
        BundlePlan,
        UpgradeDecision,
        WaitingUpgrade,
    )
    from looseleaf.features.bundles.operations import (
        BundleArchive,
        BundlePreview,
        BundleRebase,
        InstalledBundle,
    )
    from looseleaf.features.bundles.plan import RebaseEntry
    from looseleaf.plugins.admin_pages import UploadedFile, Visit


# An upload that the next form sends again, so that a person decides after a preview of it.


def encode_upload(visit: Visit, file: UploadedFile) -> str:
    """Read an upload as base64; one that is too large for the next form is refused.

    In a form, the base64 of an archive is about one and a half times as long as its bytes.
    """
    limit = visit.context.settings.max_request_bytes * 2 // 3
    content = file.content.read(limit + 1)
    if len(content) > limit:
        raise Invalid(
            f"The file has more than {limit:,} bytes. Use the command line of the server, or ask "
            "the operator to raise max_request_bytes."
        )
    return b64encode(content).decode()


ADDRESS = "/admin/bundles"
MOST = 200
APPROVE = "approve "  # before the key of the plan, in the name of a field
MERGE = "merge "
SHOWN = "shown "  # before the key of a part, for the hash that the plan showed
SIGNS = {"+": "added", "-": "removed"}
BUCKET_WORDS = {
    "needs_approval": "Needs your approval",
    "auto_apply": "Is applied",
    "warnings": "Stays as it is here",
    "no_op": "Is the same, or a choice of this workspace",
}
REASON_WORDS = {
    "new_artifact": "new",
    "local_unchanged_from_installed": "nobody changed it here",
    "local_modified": "it was changed here",
    "untracked_local_artifact": "it was here before the bundle",
    "widens_rights": "it widens what the agent may see or use",
    "starts_by_itself": "it would run by itself",
    "already_matches_target": "the same",
    "kept_local": "decided here",
    "learned_memory_kept": "learned memory is never overwritten",
    "missing_local_artifact": "it was deleted here",
    "orphaned_installed_artifact": "the bundle has it no longer",
    "missing_pipeline": "its pipeline was deleted here",
    "needs_pipeline": "it needs the new steps of its pipeline",
    "needs_flow": "its flow has to be approved first",
    "affects_all_agents": "the system tasks of all agents would use it",
    "kept_not_used": "it is kept for other programs, and not used here",
    "unresolved_auth_ref": "this workspace does not have its credential",
}


def list_bundles(visit: Visit) -> Document | Redirect:
    """List the agents that came from bundles, with the form that takes another bundle."""
    bundles = visit.run("looseleaf/list-bundles")
    data = {"bundles": visit.cut(bundles, MOST, name="bundles"), "plan": None}
    return Document("bundles/bundles.html", "Bundles", data)


def change_bundles(visit: Visit) -> Document | Redirect:
    """Show the plan of an archive, or carry out the plan as it was approved."""
    action = visit.form.get("action", "")
    if action == "plan":
        return _show_plan(visit)
    if action == "apply":
        return _apply_plan(visit)
    raise Invalid("The form does not say what to do. Press one of its buttons.")


def _show_plan(visit: Visit) -> Document:
    if visit.file is None or not visit.file.name:
        raise Invalid("No bundle was chosen. Choose a zip file, then press the button again.")
    data, slug = encode_upload(visit, visit.file), visit.form.get("slug", "").strip()
    plan: BundlePlan = visit.run("looseleaf/plan-bundle", data=data, slug=slug)
    groups = [
        (bucket, words, [entry for entry in plan.entries if entry.bucket == bucket])
        for bucket, words in BUCKET_WORDS.items()
    ]
    merges: dict[str, RebaseEntry] = {}
    if plan.act == "upgrade":
        rebase: BundleRebase = visit.run("looseleaf/rebase-bundle", data=data, agent=plan.agent)
        merges = {entry.key: entry for entry in rebase.entries}
    page = {
        "bundles": (),
        "plan": plan,
        "merges": merges,
        "groups": groups,
        "reasons": REASON_WORDS,
        "rows": split_diff,
        "archive": data,
    }
    return Document("bundles/bundles.html", f"Plan for {plan.agent}", page)


def split_diff(diff: str) -> list[tuple[str, str]]:
    """Split a diff into rows: same, added, removed, and gaps between them."""
    rows = []
    for line in diff.splitlines()[2:]:
        if line.startswith("@@"):
            rows.append(("gap", ""))
        else:
            rows.append((SIGNS.get(line[:1], "same"), line[1:] or " "))
    return rows


def _apply_plan(visit: Visit) -> Redirect:
    form = visit.form
    data, agent = form.get("data", ""), form.get("agent", "")
    keys = {prefix: list_chosen_keys(visit, prefix) for prefix in (APPROVE, MERGE)}
    if form.get("act") == "install":
        result: BundlePlan = visit.run(
            "looseleaf/install-bundle", data=data, slug=agent, approve=keys[APPROVE]
        )
    else:
        result = visit.run(
            "looseleaf/upgrade-bundle",
            data=data,
            agent=agent,
            approve=keys[APPROVE],
            merge=keys[MERGE],
            planned_hashes={key: form[SHOWN + key] for key in list_chosen_keys(visit, SHOWN)},
        )
    verb = "Installed" if result.act == "install" else "Upgraded"
    approval_notice = f" Waits for approval: {', '.join(result.waiting)}." if result.waiting else ""
    notice = f"{verb} {result.agent}. Parts applied: {len(result.applied)}.{approval_notice}"
    return Redirect(ADDRESS, notice)


def list_chosen_keys(visit: Visit, prefix: str) -> list[str]:
    """Return the keys whose checkboxes are set; the names of the fields begin with the prefix."""
    return [name.removeprefix(prefix) for name in visit.form if name.startswith(prefix)]


# Parts of a bundle that wait for approval, each as a diff: approve, merge or reject them.


CHOOSE, MERGE_CHOICE = "choose ", "merge "  # before a key, in the name of a field


def show_approval(visit: Visit) -> Document | Redirect:
    """Show the parts of a bundle that wait, each with its change."""
    upgrade: WaitingUpgrade = visit.run(
        "looseleaf/show-pending-upgrade", agent=visit.parameters["agent"]
    )
    data = {"upgrade": upgrade, "reasons": REASON_WORDS, "rows": split_diff}
    return Document("bundles/approval.html", f"Approvals for {upgrade.agent}", data)


def decide_approval(visit: Visit) -> Redirect:
    """Apply or reject the parts that the form names."""
    agent, action = visit.parameters["agent"], visit.form.get("action", "")
    keys = {"keys": list_chosen_keys(visit, CHOOSE)}
    if action == "approve":
        merge = list_chosen_keys(visit, MERGE_CHOICE)
        keys["keys"] = [key for key in keys["keys"] if key not in merge]
        decision: UpgradeDecision = visit.run(
            "looseleaf/approve-upgrade", agent=agent, merge=merge, **keys
        )
    elif action == "reject":
        decision = visit.run("looseleaf/reject-upgrade", agent=agent, **keys)
    else:
        raise Invalid("The form does not say what to do. Press one of its buttons.")
    verb = "Applied" if decision.act == "approve" else "Rejected"
    notice = f"{verb} for {decision.agent}: {', '.join(decision.keys)}."
    return Redirect(f"{ADDRESS}/{agent}" if decision.waiting else ADDRESS, notice)


# An agent as a bundle: the files of a profile, the archive, and the bundle it came from.


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
        "files": visit.cut(preview.files, MOST_FILES, name="files"),
        "installed": _find_installed(visit, agent.slug),
    }
    return Document("bundles/export.html", "Export", data)


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
