"""Memory and tool policies: the pages an agent gets, the tools it may use, and the deciding rule.

Every rule only takes something away, so the order decides only which rule is named:
the call's deny, the agent's deny, the agent's allow_only, the call's allow_only, the mode.
"""

from __future__ import annotations

from looseleaf.errors import InvalidName
from looseleaf.errors.pages import InvalidPolicy
from looseleaf.files.folders import casefold_name
from looseleaf.memory.registry import check_mode
from looseleaf.memory.scope import check_filename, check_folder
from looseleaf.values import built_once, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Literal

    from looseleaf.memory.registry import RegisteredFile

    MemoryMode = Literal["default", "deny", "allow_only"]
    Binds = Literal["injection", "access"]
    ToolMode = Literal["deny", "allow"]
    Rule = Literal[
        "call_deny", "policy_deny", "policy_allow_only", "call_allow_only", "mode", "allowed"
    ]

MEMORY_MODES: tuple[MemoryMode, ...] = ("default", "deny", "allow_only")
BINDS: tuple[Binds, ...] = ("injection", "access")
TOOL_MODES: tuple[ToolMode, ...] = ("deny", "allow")


@value
class PolicyDecision:
    """Whether something is allowed, and the one rule that decided."""

    allowed: bool
    rule: Rule


@value
class MemoryPolicy:
    """Which pages an agent is given; in the lists, `folder/*` is everything below a folder.

    It binds what is injected into prompts, or also every access that is made as the agent.
    """

    mode: MemoryMode = "default"
    deny: tuple[str, ...] = ()
    allow_only: tuple[str, ...] = ()
    binds: Binds = "injection"

    @staticmethod
    def normal(
        mode: MemoryMode, deny: Collection[str], allow_only: Collection[str], binds: Binds
    ) -> tuple[MemoryMode, tuple[str, ...], tuple[str, ...], Binds]:
        """Refuse a policy that cannot be followed, or that contradicts itself."""
        _check_choice("mode", mode, MEMORY_MODES)
        _check_choice("binds", binds, BINDS)
        lists = {
            "deny": _check_patterns("deny", deny),
            "allow_only": _check_patterns("allow_only", allow_only),
        }
        for name, patterns in lists.items():
            # Ignoring the list would inject pages that somebody meant to keep out.
            if patterns and name != mode:
                raise InvalidPolicy(f"it lists pages to {name}, but its mode is {mode}")
        return mode, lists["deny"], lists["allow_only"], binds


@value
class ToolPolicy:
    """Which tools an agent may use, by name or category; without lists, `deny` denies nothing."""

    mode: ToolMode = "deny"
    tools: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    outside_tools: tuple[str, ...] = ()  # tools that programs bring with their requests

    @staticmethod
    def normal(
        mode: ToolMode,
        tools: Collection[str],
        categories: Collection[str],
        outside_tools: Collection[str],
    ) -> tuple[ToolMode, tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Refuse a policy that cannot be followed."""
        _check_choice("mode", mode, TOOL_MODES)
        lists = _check_words("tools", tools), _check_words("categories", categories)
        return mode, *lists, _check_words("outside_tools", outside_tools)

    @built_once
    def tool_keys(self) -> frozenset[str]:
        """The tools that it lists, as names are compared."""
        return _fold_names((*self.tools, *self.outside_tools))

    @built_once
    def category_keys(self) -> frozenset[str]:
        """The categories that it lists, as names are compared."""
        return _fold_names(self.categories)

    def lists(self, name: str, categories: Iterable[str]) -> bool:
        """Return whether it lists a tool, by its name or by one of its categories."""
        if self.tool_keys and casefold_name(name) in self.tool_keys:
            return True
        # Most policies list no categories, and a turn asks dozens of times.
        keys = self.category_keys
        return bool(keys) and not keys.isdisjoint(map(casefold_name, categories))


def parse_memory_policy(config: Mapping[str, object] | None) -> MemoryPolicy:
    """Parse `memory_policy` of an agent's configuration; a missing policy restricts nothing."""
    if config is None:
        return _FREE_MEMORY
    fields = _check_fields(config, ("mode", "deny", "allow_only", "binds"))
    return MemoryPolicy(**fields)  # type: ignore[arg-type]  # `normal` checks the fields


def parse_tool_policy(config: Mapping[str, object] | None) -> ToolPolicy:
    """Parse `tool_policy` of an agent's configuration; a missing policy restricts nothing."""
    if config is None:
        return _FREE_TOOLS
    fields = _check_fields(config, ("mode", "tools", "categories", "outside_tools"))
    if fields and "mode" not in fields:
        raise InvalidPolicy(f"its mode is missing; it is one of {', '.join(TOOL_MODES)}")
    return ToolPolicy(**fields)  # type: ignore[arg-type]  # `normal` checks the fields


def decide(
    filename: str,
    *,
    policy: MemoryPolicy,
    deny: Collection[str] = (),
    allow_only: Collection[str] | None = None,
) -> PolicyDecision:
    """Decide about one page; `allow_only=None` narrows nothing, and `[]` allows nothing."""
    return _build_judge(policy, deny, allow_only)(filename)


def resolve_registered(
    files: Iterable[RegisteredFile],
    *,
    mode: str,
    policy: MemoryPolicy,
    deny: Collection[str] = (),
    allow_only: Collection[str] | None = None,
) -> tuple[tuple[RegisteredFile, PolicyDecision], ...]:
    """Decide about registered files in one mode; return all of them, in the same order."""
    check_mode(mode)
    judge = _build_judge(policy, deny, allow_only)
    decisions = []
    for file in files:
        decision = judge(file.filename)
        if decision.allowed and not file.is_injected_in(mode):
            decision = PolicyDecision(allowed=False, rule="mode")
        decisions.append((file, decision))
    return tuple(decisions)


def resolve_names(
    names: Collection[str],
    *,
    policy: MemoryPolicy,
    deny: Collection[str] = (),
    allow_only: Collection[str] | None = None,
) -> tuple[tuple[str, PolicyDecision], ...]:
    """Decide about an explicit list of pages; return all of them, in the same order."""
    judge = _build_judge(policy, deny, allow_only)
    return tuple((name, judge(name)) for name in _check_collection("the list of pages", names))


def decide_tool(
    name: str,
    categories: Collection[str] = (),
    *,
    policy: ToolPolicy,
    deny: Collection[str] = (),
    allow_only: Collection[str] | None = None,
) -> PolicyDecision:
    """Decide about one tool and its categories; the lists of a call name tools alone."""
    _check_words("the tool", (name,))
    _check_words("the tool's categories", categories)
    is_listed = policy.lists(name, categories)
    return _apply_rules(
        call_deny=deny != () and _names_tool("deny", deny, name),
        policy_deny=policy.mode == "deny" and is_listed,
        policy_allow_only=policy.mode == "allow" and not is_listed,
        call_allow_only=allow_only is not None and not _names_tool("allow_only", allow_only, name),
    )


def _names_tool(subject: str, names: Collection[str], tool: str) -> bool:
    return casefold_name(tool) in _fold_names(_check_words(subject, names))


def _build_judge(
    policy: MemoryPolicy, deny: Collection[str], allow_only: Collection[str] | None
) -> Callable[[str], PolicyDecision]:
    """Build the function that decides about pages, with the lists prepared once."""
    call_deny = _build_matcher(_check_patterns("deny", deny))
    policy_deny = _build_matcher(policy.deny)
    policy_allows = _build_matcher(policy.allow_only)
    call_allows = _build_matcher(
        () if allow_only is None else _check_patterns("allow_only", allow_only)
    )

    def judge(filename: str) -> PolicyDecision:
        key = casefold_name(check_filename(filename))
        return _apply_rules(
            call_deny=call_deny(key),
            policy_deny=policy_deny(key),
            policy_allow_only=policy.mode == "allow_only" and not policy_allows(key),
            call_allow_only=allow_only is not None and not call_allows(key),
        )

    return judge


def _apply_rules(
    *, call_deny: bool, policy_deny: bool, policy_allow_only: bool, call_allow_only: bool
) -> PolicyDecision:
    """Return the decision of the highest rule that refuses."""
    if call_deny:
        return _CALL_DENY
    if policy_deny:
        return _POLICY_DENY
    if policy_allow_only:
        return _POLICY_ALLOW_ONLY
    return _CALL_ALLOW_ONLY if call_allow_only else _ALLOWED


def _build_matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    exact = {casefold_name(pattern) for pattern in patterns if not pattern.endswith("/*")}
    below = tuple(casefold_name(pattern[:-1]) for pattern in patterns if pattern.endswith("/*"))
    return lambda key: key in exact or key.startswith(below)


def _check_fields(config: Mapping[str, object], field_names: tuple[str, ...]) -> dict[str, object]:
    if not hasattr(config, "keys"):
        raise InvalidPolicy(f"it is {type(config).__name__}, not a table of settings")
    for key in config:
        if key not in field_names:
            raise InvalidPolicy(f"{key!r} is not part of it; there are {', '.join(field_names)}")
    return dict(config)


def _check_choice(field: str, choice: object, choices: tuple[str, ...]) -> None:
    if choice not in choices:
        raise InvalidPolicy(f"{field} {choice!r} is unknown; it is one of {', '.join(choices)}")


def _check_collection(subject: str, names: Collection[str]) -> Collection[str]:
    # A text in the place of a list would be read letter by letter.
    if not isinstance(names, list | tuple | set | frozenset):
        raise InvalidPolicy(f"{subject} is {type(names).__name__}, not a list of names")
    return names


def _check_patterns(subject: str, names: Collection[str]) -> tuple[str, ...]:
    return tuple(_check_pattern(subject, name) for name in _check_collection(subject, names))


def _check_pattern(subject: str, name: str) -> str:
    if not isinstance(name, str):
        raise InvalidPolicy(f"{subject} has {name!r}, which is not text")
    try:
        if name.endswith("/*"):
            check_folder(name[:-2])
        else:
            check_filename(name)
        return name
    except InvalidName as error:
        raise InvalidPolicy(
            f"{subject} has {name!r}, which no page can match: {error.why}"
        ) from None


def _check_words(subject: str, names: Collection[str]) -> tuple[str, ...]:
    for name in _check_collection(subject, names):
        if not isinstance(name, str):
            raise InvalidPolicy(f"{subject} has {name!r}, which is not text")
        if not name or not name.isprintable() or set(name) & set(" *"):
            raise InvalidPolicy(f"{subject} has {name!r}, which no tool can match")
    return tuple(names)


def _fold_names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(map(casefold_name, names))


_CALL_DENY = PolicyDecision(allowed=False, rule="call_deny")
_POLICY_DENY = PolicyDecision(allowed=False, rule="policy_deny")
_POLICY_ALLOW_ONLY = PolicyDecision(allowed=False, rule="policy_allow_only")
_CALL_ALLOW_ONLY = PolicyDecision(allowed=False, rule="call_allow_only")
_ALLOWED = PolicyDecision(allowed=True, rule="allowed")
# The policies of agents that have none, built once: a turn reads them dozens of times.
_FREE_MEMORY, _FREE_TOOLS = MemoryPolicy(), ToolPolicy()
