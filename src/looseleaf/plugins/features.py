"""The built-in features: each registers itself in one plugin module, as any plugin does."""

from __future__ import annotations

import os
from importlib import import_module

from looseleaf.memory.registry import OWNER
from looseleaf.plugins.hooks import Implementation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.services import WorkspaceServices

# A feature may use the features above it. Modules are named, not imported: the first hook that
# asks the features loads them, and a command that reads or writes a page asks none.
FEATURES = (
    "looseleaf.features.chat.plugin",
    "looseleaf.features.workflows.plugin",
    "looseleaf.features.upkeep.plugin",
    "looseleaf.features.bundles.plugin",
    "looseleaf.features.imports.plugin",
    "looseleaf.features.backup.plugin",
)

# Modules with the hooks that features add for plugins.
HOOKSPECS = ("looseleaf.features.workflows.hookspecs",)


def list_template_folders() -> dict[str, str]:
    """Return the folder of each feature's templates, by the name of the feature."""
    package = os.path.dirname(os.path.dirname(__file__))
    names = [name.split(".")[-2] for name in FEATURES]
    return {name: f"{package}/features/{name}/templates" for name in names}


def list_feature_entries(parts: WorkspaceServices) -> dict[str, list[tuple[str, str]]]:
    """Return owner and name of each entry in the registries of features, by kind."""
    entries: dict[str, list[tuple[str, str]]] = {}
    call_features("list_entries", entries=entries, parts=parts)
    return entries


def call_features(hook: str, **arguments: object) -> None:
    """Call a hook of each feature that implements it."""
    for name in FEATURES:
        function = getattr(import_module(name), hook, None)
        if function is not None:
            code = function.__code__
            names = code.co_varnames[: code.co_argcount]
            Implementation(OWNER, function, names).call(arguments)
