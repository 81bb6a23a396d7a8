"""The built-in features: each registers itself in one plugin module, as any plugin does."""

from __future__ import annotations

from importlib import import_module

from looseleaf.memory.registry import OWNER
from looseleaf.plugins.hooks import Implementation

# A feature may use the features above it. Modules are named, not imported: the first hook that
# asks the features loads them, and a command that reads or writes a page asks none.
FEATURES = (
    "looseleaf.chat.plugin",
    "looseleaf.workflows.plugin",
    "looseleaf.upkeep.plugin",
    "looseleaf.bundles.plugin",
    "looseleaf.bundles.importers.plugin",
    "looseleaf.bundles.backup.plugin",
)


def call_features(hook: str, **arguments: object) -> None:
    """Call a `register_*` hook of each feature that implements it."""
    for name in FEATURES:
        function = getattr(import_module(name), hook, None)
        if function is not None:
            code = function.__code__
            names = code.co_varnames[: code.co_argcount]
            Implementation(OWNER, function, names).call(arguments)
