"""Access to an agent: who has which role, and its tokens; a new token is shown once."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.access.principals import ROLES, WRITE_USER_PAGES
from looseleaf.errors import Forbidden, Invalid
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.times import DAY_SECONDS
from looseleaf.web.admin.rights import ROLE_WORDS, describe_token

if TYPE_CHECKING:
    from looseleaf.operations.tokens import TokenInfo
    from looseleaf.plugins.admin_pages import Visit

ENDS = (("", "never"), ("1", "after a day"), ("30", "after 30 days"), ("365", "after a year"))
MOST_TOKENS = 200


def show_access(visit: Visit) -> Document | Redirect:
    """Show the roles and the tokens, as far as the signed-in person may see them."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    is_admin = visit.context.principal.role_on(agent.id, agent.owner) == "admin"
    tokens = _list_tokens(visit, agent.slug)
    data = {
        "agent": agent,
        "grants": visit.run("looseleaf/list-grants", agent=agent.slug) if is_admin else None,
        "tokens": None if tokens is None else tokens[:MOST_TOKENS],
        "is_admin": is_admin,
        "roles": ROLES,
        "role_words": ROLE_WORDS,
        "ends": ENDS,
        "describe_token": describe_token,
    }
    return Document("agents/access.html", "Access", data)


def _list_tokens(visit: Visit, agent: str) -> list[TokenInfo] | None:
    """List the tokens, valid ones first, or None if they may not be seen."""
    try:
        tokens: list[TokenInfo] = visit.run("looseleaf/list-tokens", agent=agent)
    except Forbidden:
        return None
    return sorted(tokens, key=lambda token: (bool(token.ended), -token.created))


def change_access(visit: Visit) -> Document | Redirect:
    """Grant or revoke a role, create or revoke a token."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    form, address = visit.form, f"/admin/agents/{quote(agent.slug)}/access"
    action = form.get("action", "")
    if action == "grant":
        user, role = form.get("user", "").strip(), form.get("role", "")
        visit.run("looseleaf/grant-role", agent=agent.slug, user=user, role=role)
        return Redirect(address, f"{user} is {role} of {agent.name} from now on.")
    if action == "take":
        user = form.get("user", "")
        visit.run("looseleaf/revoke-role", agent=agent.slug, user=user)
        return Redirect(address, f"The role of {user} on {agent.name} is taken away.")
    if action == "revoke":
        visit.run("looseleaf/revoke-token", id=form.get("id", ""))
        return Redirect(address, "The token is ended. Programs that use it are refused at once.")
    if action == "create":
        return _create_token(visit, agent.slug)
    raise Invalid("The form does not say what to do. Press one of its buttons.")


def _create_token(visit: Visit, agent: str) -> Document:
    """Create a token and show its text, which no address and no log contains."""
    form = visit.form
    rights = [name for name in ("chat", WRITE_USER_PAGES) if form.get(f"can-{name}")]
    days = form.get("days", "")
    token = visit.run(
        "looseleaf/create-token",
        agent=agent,
        label=form.get("label", "").strip(),
        role=form.get("role") or None,
        capabilities=rights,
        expires_in=float(days) * DAY_SECONDS if days.isdecimal() else None,
    )
    record = visit.run("looseleaf/show-agent", agent=agent)
    data = {
        "agent": record,
        "token": token,
        "base": visit.base,
        "sentence": describe_token(token),
    }
    return Document("agents/token_created.html", "The new token", data)
