"""Models opened by name: `provider:model`, with the settings of the provider; and `echo`."""

from __future__ import annotations

import re
import threading

from looseleaf.errors.operations import InvalidModel
from looseleaf.extras import MODELS, require_extra
from looseleaf.models.model import Answer, Delta, Message, ModelOffer, ToolCall, Usage
from looseleaf.models.retries import LoopThread, RetryingModel
from looseleaf.settings import Provider, read_variable
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from looseleaf.models.model import Model, Question
    from looseleaf.models.openai import OpenAIClients
    from looseleaf.models.pydantic_ai import Providers
    from looseleaf.settings import Settings


# A model that needs no provider: it repeats the message, for demos and tests.


CALL = "/call "


class EchoModel:
    """Repeats the message; `/call TOOL {…}` calls a tool, and its result is repeated."""

    def __init__(self, name: str = "echo") -> None:
        self.name = name

    def ask(self, question: Question, should_stop: Callable[[], bool]) -> Iterator[Delta | Answer]:
        """Stream the answer word by word."""
        last = question.messages[-1]
        calls: tuple[ToolCall, ...] = ()
        text = f"{last.name} said: {last.text}" if last.role == "tool" else last.text
        if last.role == "user" and text.startswith(CALL):
            tool, _, arguments = text[len(CALL) :].strip().partition(" ")
            place = f"echo-{len(question.messages)}"
            calls, text = (ToolCall(place, tool, arguments or "{}"),), ""
        for word in re.findall(r"\S+\s*|\s+", text):
            if should_stop():
                return
            yield Delta(word)
        input_words = sum(len(part.split()) for part in question.system)
        input_words += sum(len(part.text.split()) for part in question.messages)
        usage = Usage(1, input_words, len(text.split()))
        yield Answer(Message(role="assistant", text=text, calls=calls), usage, self.name)


ECHO = "echo"
OLLAMA = "ollama"
_OLLAMA_ADDRESS = "http://127.0.0.1:11434/v1"
# Providers that are not OpenAI-compatible, or need more than a key: the provider library asks them,
# at another address too. Any other name with an address is an OpenAI-compatible server.
OWN_PROTOCOL = frozenset(
    {
        "anthropic", "azure", "azure-responses", "bedrock", "bedrock-mantle", "cohere",
        "github-copilot", "google", "google-cloud", "huggingface", "meta", "openai-chatgpt",
        "openai-codex", "openai-responses", "snowflake", "xai",
    }
)  # fmt: skip


_LIST_SECONDS = 5.0  # that each provider has to list its models
_NO_LIST = "it gives no list here; type the name of a model as provider:model"


class Models:
    """The models of a workspace, opened when they are first asked for."""

    def __init__(
        self,
        providers: Mapping[str, Provider] | None = None,
        *,
        timeout: float = 120.0,
        retries: int = 2,
        cache: bool = True,
    ) -> None:
        self._providers = providers or {}
        self._timeout, self._retries, self._cache = timeout, retries, cache
        self._makers: dict[str, Callable[[str], Model]] = {ECHO: EchoModel}
        self._open: dict[str, Model] = {}
        self._loop_thread: LoopThread | None = None
        self._compatible: OpenAIClients | None = None
        self._native: Providers | None = None
        self._lock = threading.Lock()

    def register(self, provider: str, make: Callable[[str], Model]) -> None:
        """Add a provider: a function that creates a model by its whole name."""
        self._makers[provider] = make

    def open(self, name: str) -> Model:
        """Return the model of a name, or raise `InvalidModel`."""
        with self._lock:
            if name not in self._open:
                self._open[name] = self._open_model(name)
            return self._open[name]

    def list_offers(self) -> list[ModelOffer]:
        """List the models that the providers of the settings offer, and the provider echo."""
        offers = [ModelOffer(ECHO, (ECHO,))]
        compatible = []
        for provider in self._providers.values():
            if provider.base_url and provider.name not in OWN_PROTOCOL:
                compatible.append(provider)
            else:
                offers.append(ModelOffer(provider.name, (), _NO_LIST))
        if compatible:
            with self._lock:
                self._loop_thread = self._loop_thread or LoopThread()
                connector = self._open_compatible(self._loop_thread)
            offers += connector.list_models(compatible, min(self._timeout, _LIST_SECONDS))
        return sorted(offers, key=lambda offer: offer.provider)

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            self._open.clear()
            connectors, self._compatible, self._native = (
                (self._compatible, self._native),
                None,
                None,
            )
            loop_thread, self._loop_thread = self._loop_thread, None
        for connector in connectors:
            if connector is not None:
                connector.close()
        if loop_thread is not None:
            loop_thread.close()

    def _open_model(self, name: str) -> Model:
        provider, _, model = name.partition(":")
        make = self._makers.get(provider)
        if make is not None:
            return make(name)
        if not provider or not model:
            raise InvalidModel(name, "it is written provider:model, as in openai:gpt-5-mini")
        self._loop_thread = self._loop_thread or LoopThread()
        provider_config = self._providers.get(provider, Provider(provider))
        if provider == OLLAMA and not provider_config.base_url:
            address = read_variable("OLLAMA_BASE_URL") or _OLLAMA_ADDRESS
            provider_config = replace(provider_config, base_url=address)
        is_compatible = bool(provider_config.base_url) and provider not in OWN_PROTOCOL
        connector: OpenAIClients | Providers = (
            self._open_compatible(self._loop_thread)
            if is_compatible
            else self._open_native(name, self._loop_thread)
        )
        connection = connector.open(name, provider_config, self._timeout)
        return RetryingModel(
            name, connection, self._loop_thread, retries=self._retries, key=provider_config.key
        )

    def _open_compatible(self, loop_thread: LoopThread) -> OpenAIClients:
        if self._compatible is None:
            from looseleaf.models.openai import OpenAIClients

            self._compatible = OpenAIClients(loop_thread)
        return self._compatible

    def _open_native(self, name: str, loop_thread: LoopThread) -> Providers:
        if self._native is None:
            with require_extra(MODELS, f"The model {name}"):
                from looseleaf.models.pydantic_ai import Providers
            self._native = Providers(loop_thread, cache=self._cache)
        return self._native


def open_models(settings: Settings) -> Models:
    """Build the models with the providers of the settings."""
    return Models(
        {provider.name: provider for provider in settings.providers},
        timeout=settings.model_timeout,
        retries=settings.model_retries,
        cache=settings.model_cache,
    )
