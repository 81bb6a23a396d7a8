"""The rights of a user for whom an agent acts while nobody is present."""

from __future__ import annotations

from looseleaf.access.accounts import ACTIVE
from looseleaf.access.principals import AGENT, Principal, find_requirement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.access.accounts import Accounts
    from looseleaf.memory.scope import Shelf

_NO_ROLE = ""  # below every role, so that nothing is allowed on any agent


def build_user_principal(
    accounts: Accounts, user_id: int, *, agent_id: int, name: str = ""
) -> Principal:
    """Build the principal of a user for whom an agent acts, with the rights that they have now.

    A user without an account has rights on their own agents alone: at the command line, an agent
    has an owner before there is any account. A disabled user has no right at all.
    """
    user = accounts.users.find(user_id)
    if user is None:
        return Principal(kind=AGENT, user_id=user_id, name=name, agent_id=agent_id)
    if user.status != ACTIVE:
        return Principal(kind=AGENT, user_id=user_id, name=name, agent_id=agent_id, role=_NO_ROLE)
    grants = {grant.agent_id: grant.role for grant in accounts.grants.list(user_id=user_id)}
    return Principal(
        kind=AGENT,
        user_id=user_id,
        name=name,
        capabilities=user.capabilities,
        grants=grants,
        agent_id=agent_id,
    )


def find_job_requirement(principal: Principal, shelf: Shelf, owner: int) -> str | None:
    """Return what a user lacks for a job of an agent of `owner`, or None if nothing is missing.

    The owner needs an account that is not disabled, if there is one. Any other user needs what it
    takes to start the job: the role operator on the agent, and the capability for workflows.
    """
    is_owner = principal.user_id == owner
    return find_requirement(principal, "write" if is_owner else "flows", shelf, owner=owner)
