"""Providers as the library knows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from httpx2 import AsyncClient, Limits, Timeout
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import infer_model
from pydantic_ai.providers import infer_provider_class

from looseleaf.errors import InvalidModel
from looseleaf.models.provided import ProvidedLine, note

if TYPE_CHECKING:
    from typing import Any

    from httpx2 import Request
    from pydantic_ai.providers import Provider as NativeProvider

    from looseleaf.models.bridge import Bridge
    from looseleaf.settings import Provider

# Google's client, stopped at the wrong moment, leaves its response open until the next collection
# of garbage; what it is given to ask with notes each response, so that it can be closed.
_FORGETFUL = ("google", "google-cloud")
_CONNECT_SECONDS = 10.0
_MOST_CONNECTIONS = 1_000
_VARIABLE = re.compile(r"`([A-Z0-9_]+)` environment")  # of a provider's key, as the library says it


class Providers:
    """The providers in use, each with its connections."""

    def __init__(self, bridge: Bridge, *, cache: bool = True) -> None:
        self._bridge, self._cache = bridge, cache
        self._known: dict[str, NativeProvider[Any]] = {}
        self._clients: list[AsyncClient] = []

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
        return ProvidedLine(name, native, timeout, cache=self._cache)

    def close(self) -> None:
        """Close every connection."""
        known, self._known = self._known, {}
        for provider in known.values():
            self._bridge.run(provider.__aexit__(None, None, None))
        clients, self._clients = self._clients, []
        for client in clients:
            self._bridge.run(client.aclose())

    def _made(self, provider: str, configured: Provider) -> NativeProvider[Any]:
        if provider not in self._known:
            made = self._new(provider, configured)
            # A client's own retries would multiply with ours; told with each request instead, it
            # would be copied for each, which costs more than the rest of asking.
            if hasattr(made.client, "max_retries"):
                made.client.max_retries = 0
            self._bridge.run(made.__aenter__())
            self._known[provider] = made
        return self._known[provider]

    def _new(self, provider: str, configured: Provider) -> NativeProvider[Any]:
        key = configured.key.reveal() if configured.key is not None else None
        client = _noting_client() if provider in _FORGETFUL else None
        given = {"api_key": key, "base_url": configured.base_url, "http_client": client}
        made: NativeProvider[Any] = infer_provider_class(provider)(
            **{name: one for name, one in given.items() if one}
        )
        self._clients += [client] if client is not None else []
        return made


def _noting_client() -> AsyncClient:
    return AsyncClient(
        timeout=Timeout(None),
        limits=Limits(max_connections=_MOST_CONNECTIONS),
        event_hooks={"request": [_connect_soon], "response": [note]},
    )


async def _connect_soon(request: Request) -> None:
    """Wait for a connection no longer than that, however long an answer may take."""
    waiting = request.extensions["timeout"]
    waiting["connect"] = min(waiting["connect"] or _CONNECT_SECONDS, _CONNECT_SECONDS)


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
