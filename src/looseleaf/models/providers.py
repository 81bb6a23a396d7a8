"""Providers as the library knows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import infer_model
from pydantic_ai.providers import infer_provider_class

from looseleaf.errors import InvalidModel
from looseleaf.models.provided import ProvidedLine

if TYPE_CHECKING:
    from typing import Any

    from pydantic_ai.providers import Provider as NativeProvider

    from looseleaf.models.bridge import Bridge
    from looseleaf.settings import Provider

_VARIABLE = re.compile(r"`([A-Z0-9_]+)` environment")  # of a provider's key, as the library says it


class Providers:
    """The providers in use, each with its connections."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._known: dict[str, NativeProvider[Any]] = {}

    def open(self, name: str, configured: Provider, timeout: float) -> ProvidedLine:
        """Open the line to a model by its whole name."""
        provider = name.partition(":")[0]
        try:
            native = infer_model(name, lambda told: self._made(told, configured))
        except ImportError:
            why = f"the provider {provider} needs a package: pip install "
            raise InvalidModel(name, f"{why}'pydantic-ai-slim[{provider}]'") from None
        except (UserError, ValueError) as error:
            raise InvalidModel(name, _hint(provider, configured, error)) from None
        except TypeError:
            if not configured.base_url:
                raise
            why = f"{provider} takes no base_url; its own variables say where it is"
            raise InvalidModel(name, why) from None
        except Exception as error:
            # Credentials of Google's cloud are looked for at once, and missed in a way of its own.
            if not type(error).__module__.startswith("google.auth"):
                raise
            raise InvalidModel(name, str(error).partition(". ")[0].rstrip(".")) from None
        return ProvidedLine(name, native, timeout)

    def close(self) -> None:
        """Close every connection."""
        known, self._known = self._known, {}
        for provider in known.values():
            self._bridge.run(provider.__aexit__(None, None, None))

    def _made(self, provider: str, configured: Provider) -> NativeProvider[Any]:
        if provider not in self._known:
            made = _provider(provider, configured)
            # A client's own retries would multiply with ours; told with each request instead, it
            # would be copied for each, which costs more than the rest of asking.
            if hasattr(made.client, "max_retries"):
                made.client.max_retries = 0
            self._bridge.run(made.__aenter__())
            self._known[provider] = made
        return self._known[provider]


def _provider(provider: str, configured: Provider) -> NativeProvider[Any]:
    key = configured.key.reveal() if configured.key is not None else None
    given = {"api_key": key, "base_url": configured.base_url}
    made: NativeProvider[Any] = infer_provider_class(provider)(
        **{name: one for name, one in given.items() if one}
    )
    return made


def _is_known(provider: str) -> bool:
    try:
        infer_provider_class(provider)
    except ValueError:
        return False
    except ImportError:
        return True
    return True


def _hint(provider: str, configured: Provider, error: Exception) -> str:
    """Say what to set; the library's own advice is about its own arguments."""
    if not _is_known(provider):
        return (
            f"there is no provider {provider}; for a server that speaks OpenAI's language, set "
            f"base_url under [providers.{provider}] in looseleaf.toml"
        )
    if configured.key is None and "key" in str(error).lower():
        own = provider.upper().replace("-", "_")
        named = _VARIABLE.search(str(error))
        return (
            f"there is no key; set {named[1] if named else f'{own}_API_KEY'} or "
            f"LOOSELEAF_KEY_{own}, or key under [providers.{provider}] in looseleaf.toml"
        )
    return str(error).partition(". ")[0].rstrip(".")
