"""Providers as the library knows them, and any other that speaks OpenAI's language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from looseleaf.errors import InvalidModel
from looseleaf.models.bridge import Bridge
from looseleaf.models.provided import ProvidedModel

if TYPE_CHECKING:
    from typing import Any

    from pydantic_ai.models import Model as NativeModel
    from pydantic_ai.providers import Provider as NativeProvider

    from looseleaf.settings import Provider

# Whose own address takes requests that other servers of that language do not know.
_OPENAI = ("openai", "openai-chat", "openai-responses")


class Providers:
    """The providers in use, each with its connections, and the loop they live in."""

    def __init__(self, timeout: float, retries: int) -> None:
        self._timeout, self._retries = timeout, retries
        self._bridge = Bridge()
        self._known: dict[str, NativeProvider[Any]] = {}

    def open(self, name: str, configured: Provider) -> ProvidedModel:
        """Open a model by its whole name."""
        provider, _, model = name.partition(":")
        try:
            native = self._native(provider, model, configured)
        except ImportError:
            why = f"the provider {provider} needs a package: pip install "
            raise InvalidModel(name, f"{why}'pydantic-ai-slim[{provider}]'") from None
        except (UserError, ValueError) as error:
            raise InvalidModel(name, _hint(provider, configured, error)) from None
        return ProvidedModel(
            name, native, self._bridge, timeout=self._timeout, retries=self._retries
        )

    def close(self) -> None:
        """Close every connection, and the loop."""
        known, self._known = self._known, {}
        for provider in known.values():
            self._bridge.run(provider.__aexit__(None, None, None))
        self._bridge.close()

    def _native(self, provider: str, model: str, configured: Provider) -> NativeModel:
        if configured.base_url and (provider in _OPENAI or not _is_known(provider)):
            return OpenAIChatModel(model, provider=self._made(provider, configured))
        return infer_model(f"{provider}:{model}", lambda told: self._made(told, configured))

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
    if configured.base_url and (provider in _OPENAI or not _is_known(provider)):
        # A server of one's own often has no key, and the client insists on one.
        return OpenAICompatibleProvider(
            provider, base_url=configured.base_url, api_key=key or "none"
        )
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
        variable = provider.partition("-")[0].upper()
        return (
            f"there is no key; set {variable}_API_KEY or LOOSELEAF_KEY_{variable}, or key under "
            f"[providers.{provider}] in looseleaf.toml"
        )
    return str(error).partition(". ")[0].rstrip(".")
