"""Errors of models and their providers."""

from __future__ import annotations

from looseleaf.errors import Invalid, Unavailable, _InvalidThing


class InvalidModel(_InvalidThing):
    """A name that no model answers to, or a provider that is not set up."""

    code = "invalid_model"
    template = "The model {name} cannot be used: {why}."


class ModelMissing(Invalid):
    """Nothing names the model that is to answer."""

    code = "model_missing"

    def __init__(self, agent: str, mode: str) -> None:
        self.agent, self.mode = agent, mode
        super().__init__(
            f"No model is named for {agent} in mode {mode}. Name one: default_model = "
            '"provider:model" in looseleaf.toml (or "echo" to try it out), or for this agent: '
            f"""looseleaf agents configure {agent} 'models={{"{mode}": "provider:model"}}'"""
        )


class ModelFailed(Unavailable):
    """The provider did not answer; what was said before is kept, and can be answered later."""

    code = "model_failed"

    def __init__(self, model: str, reason: str) -> None:
        self.model = model
        super().__init__(f"The model {model}", reason)
