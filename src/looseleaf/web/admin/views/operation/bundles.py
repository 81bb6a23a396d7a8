"""Bundles: the agents that came from bundles, and the plan of an install or upgrade."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import Invalid
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.web.admin.views.operation.upload_data import encode_upload

if TYPE_CHECKING:
    from looseleaf.bundles.comparison.rebase import RebaseEntry
    from looseleaf.operations.bundle_comparisons import BundleRebase
    from looseleaf.operations.bundle_installs import BundlePlan
    from looseleaf.plugins.admin_pages import Visit

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
    data = {"bundles": bundles[:MOST], "plan": None}
    return Document("operation/bundles.html", "Bundles", data)


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
    return Document("operation/bundles.html", f"Plan for {plan.agent}", page)


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
