"""The providers of the provider library, opened with our settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from httpx2 import AsyncClient, Limits, Timeout
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import infer_model
from pydantic_ai.providers import infer_provider_class

from looseleaf.errors.models import InvalidModel
from looseleaf.models.pydantic_ai.model import ProviderConnection, note

if TYPE_CHECKING:
    from typing import Any

    from httpx2 import Request
    from pydantic_ai.providers import Provider as NativeProvider

    from looseleaf.models.pydantic_ai.event_loop import LoopThread
    from looseleaf.setting_tables import Provider

# Google's client, if stopped at the wrong moment, leaves its response open until the next garbage
# collection. The HTTP client that we give it records each response, so that it can be closed.
_FORGETFUL = ("google", "google-cloud")
_CONNECT_SECONDS = 10.0
_MOST_CONNECTIONS = 1_000
_VARIABLE = re.compile(
    r"`([A-Z0-9_]+)` environment"
)  # of a provider's key, as the library's errors name it


class Providers:
    """The providers in use, each with its connections."""

    def __init__(self, loop_thread: LoopThread, *, cache: bool = True) -> None:
        self._loop_thread, self._cache = loop_thread, cache
        self._providers: dict[str, NativeProvider[Any]] = {}
        self._clients: list[AsyncClient] = []

    def open(self, name: str, provider_config: Provider, timeout: float) -> ProviderConnection:
        """Open the connection to a model by its whole name."""
        provider = name.partition(":")[0]
        try:
            native = infer_model(
                name, lambda provider_name: self._open_provider(provider_name, provider_config)
            )
        except ImportError:
            reason = f"the provider {provider} needs a package: pip install "
            raise InvalidModel(name, f"{reason}'pydantic-ai-slim[{provider}]'") from None
        except (UserError, ValueError) as error:
            raise InvalidModel(name, _suggest_setting(provider, provider_config, error)) from None
        except TypeError:
            if not provider_config.base_url:
                raise
            reason = f"{provider} takes no base_url; its own variables say where it is"
            raise InvalidModel(name, reason) from None
        except Exception as error:
            # Google's library looks for credentials at once, and raises its own error without them.
            if not type(error).__module__.startswith("google.auth"):
                raise
            raise InvalidModel(name, str(error).partition(". ")[0].rstrip(".")) from None
        return ProviderConnection(name, native, timeout, cache=self._cache)

    def close(self) -> None:
        """Close every connection."""
        providers, self._providers = self._providers, {}
        for provider in providers.values():
            self._loop_thread.run(provider.__aexit__(None, None, None))
        clients, self._clients = self._clients, []
        for client in clients:
            self._loop_thread.run(client.aclose())

    def _open_provider(self, provider: str, provider_config: Provider) -> NativeProvider[Any]:
        if provider not in self._providers:
            native = self._create_provider(provider, provider_config)
            # A client's own retries would multiply with ours. Setting this for each request would
            # copy the client each time, which costs more than the rest of the request.
            if hasattr(native.client, "max_retries"):
                native.client.max_retries = 0
            self._loop_thread.run(native.__aenter__())
            self._providers[provider] = native
        return self._providers[provider]

    def _create_provider(self, provider: str, provider_config: Provider) -> NativeProvider[Any]:
        key = provider_config.key.reveal() if provider_config.key is not None else None
        client = _create_noting_client() if provider in _FORGETFUL else None
        options = {"api_key": key, "base_url": provider_config.base_url, "http_client": client}
        native: NativeProvider[Any] = infer_provider_class(provider)(
            **{name: option for name, option in options.items() if option}
        )
        self._clients += [client] if client is not None else []
        return native


def _create_noting_client() -> AsyncClient:
    return AsyncClient(
        timeout=Timeout(None),
        limits=Limits(max_connections=_MOST_CONNECTIONS),
        event_hooks={"request": [_connect_soon], "response": [note]},
    )


async def _connect_soon(request: Request) -> None:
    """Limit the time to connect; an answer itself may take longer."""
    timeouts = request.extensions["timeout"]
    timeouts["connect"] = min(timeouts["connect"] or _CONNECT_SECONDS, _CONNECT_SECONDS)


def _is_known(provider: str) -> bool:
    try:
        infer_provider_class(provider)
    except ValueError:
        return False
    except ImportError:
        return True
    return True


def _suggest_setting(provider: str, provider_config: Provider, error: Exception) -> str:
    """Name the missing setting; the library's own advice names its own arguments."""
    if not _is_known(provider):
        return (
            f"there is no provider {provider}; for an OpenAI-compatible server, set "
            f"base_url under [providers.{provider}] in looseleaf.toml"
        )
    if provider_config.key is None and "key" in str(error).lower():
        prefix = provider.upper().replace("-", "_")
        match = _VARIABLE.search(str(error))
        return (
            f"there is no key; set {match[1] if match else f'{prefix}_API_KEY'} or "
            f"LOOSELEAF_KEY_{prefix}, or key under [providers.{provider}] in looseleaf.toml"
        )
    return str(error).partition(". ")[0].rstrip(".")
