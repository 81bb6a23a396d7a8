"""The policy file that lets models read and add without asking a person, but not replace."""

from __future__ import annotations

_MARK = "# Written by `looseleaf mcp install`; `looseleaf mcp uninstall` removes it."
# Without this file Gemini CLI offers no tool of any server if there is no person to ask.
_POLICY = """\
{mark}
# Models use the tools that read memory or add to it; before text is replaced, a person is asked.
[[rule]]
mcpName = "{name}"
toolName = "*"
toolAnnotations = {{ readOnlyHint = true }}
decision = "allow"
priority = 100

[[rule]]
mcpName = "{name}"
toolName = "*"
toolAnnotations = {{ destructiveHint = false }}
decision = "allow"
priority = 100
"""


def build_policy(name: str) -> str:
    """Write the policy of a server."""
    return _POLICY.format(mark=_MARK, name=name)


def is_policy(text: str) -> bool:
    """Return whether Looseleaf wrote a policy."""
    return text.startswith(_MARK)
