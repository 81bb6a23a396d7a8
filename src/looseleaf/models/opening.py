"""Opening models by name: `provider:model`, with what the settings say of the provider."""

from __future__ import annotations

import threading

from looseleaf.errors import InvalidModel
from looseleaf.models.echo import EchoModel
from looseleaf.settings import Provider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from looseleaf.models.model import Model
    from looseleaf.models.providers import Providers
    from looseleaf.settings import Settings

ECHO = "echo"


class Models:
    """The models of a workspace, opened when they are first asked for."""

    def __init__(
        self,
        configured: Mapping[str, Provider] | None = None,
        *,
        timeout: float = 120.0,
        retries: int = 2,
    ) -> None:
        self._configured = configured or {}
        self._timeout, self._retries = timeout, retries
        self._makers: dict[str, Callable[[str], Model]] = {ECHO: EchoModel}
        self._open: dict[str, Model] = {}
        self._providers: Providers | None = None
        self._lock = threading.Lock()

    def register(self, provider: str, make: Callable[[str], Model]) -> None:
        """Add a provider of one's own: a function that makes its models by their whole name."""
        self._makers[provider] = make

    def open(self, name: str) -> Model:
        """Give the model of that name, or raise `InvalidModel`."""
        with self._lock:
            if name not in self._open:
                self._open[name] = self._made(name)
            return self._open[name]

    def close(self) -> None:
        """Let go of every connection."""
        with self._lock:
            self._open.clear()
            providers, self._providers = self._providers, None
        if providers is not None:
            providers.close()

    def _made(self, name: str) -> Model:
        provider, _, model = name.partition(":")
        make = self._makers.get(provider)
        if make is not None:
            return make(name)
        if not provider or not model:
            raise InvalidModel(name, "it is written provider:model, as in openai:gpt-5-mini")
        if self._providers is None:
            try:
                from looseleaf.models.providers import Providers
            except ImportError as error:
                why = f"{error.name} is not installed; add it: pip install 'looseleaf[models]'"
                raise InvalidModel(name, why) from None
            self._providers = Providers(self._timeout, self._retries)
        return self._providers.open(name, self._configured.get(provider, Provider()))


def open_models(settings: Settings) -> Models:
    """Open the models that the settings know how to reach."""
    return Models(
        {one.name: one for one in settings.providers},
        timeout=settings.model_timeout,
        retries=settings.model_retries,
    )
