"""Parts of a bundle that wait for approval, each as a diff: approve, merge or reject them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import Invalid
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.web.admin.views.operation.bundles import (
    ADDRESS,
    REASON_WORDS,
    list_chosen_keys,
    split_diff,
)

if TYPE_CHECKING:
    from looseleaf.operations.pending_upgrades import UpgradeDecision, WaitingUpgrade
    from looseleaf.plugins.admin_pages import Visit

CHOOSE, MERGE = "choose ", "merge "  # before a key, in the name of a field


def show_approval(visit: Visit) -> Document | Redirect:
    """Show the parts of a bundle that wait, each with its change."""
    upgrade: WaitingUpgrade = visit.run(
        "looseleaf/show-pending-upgrade", agent=visit.parameters["agent"]
    )
    data = {"upgrade": upgrade, "reasons": REASON_WORDS, "rows": split_diff}
    return Document("operation/bundle_approval.html", f"Approvals for {upgrade.agent}", data)


def decide_approval(visit: Visit) -> Redirect:
    """Apply or reject the parts that the form names."""
    agent, action = visit.parameters["agent"], visit.form.get("action", "")
    keys = {"keys": list_chosen_keys(visit, CHOOSE)}
    if action == "approve":
        merge = list_chosen_keys(visit, MERGE)
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
