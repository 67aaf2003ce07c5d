"""Ask a model behind any OpenAI-compatible chat endpoint one question at a time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from assay.errors import ConfigError, EngineError
from assay.http import post_json, redact_url, web_address


@dataclass(frozen=True, slots=True)
class ChatConfig:
    """How a chat endpoint is asked."""

    #: A local 7B model on two cores reads a few thousand tokens a minute; a hosted one answers in seconds.
    timeout: float = 180.0
    #: Two more attempts bridge a limit per minute; an outage is for the user to see.
    retries: int = 2
    #: The most likely answer each time, so that asking twice gives the same as far as the server can.
    temperature: float = 0.0
    #: Of 64 hexadecimal digits; 2^64 fences are more than anybody can write into a file in advance.
    fence_chars: int = 16


DEFAULT_CHAT: Final = ChatConfig()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is served. The token stays in the environment; only the name of its variable is known here."""

    url: str
    model: str
    token_env: str | None = None

    def __post_init__(self) -> None:
        """Refuse an address that no call could reach, now and not at the first query."""
        web_address(self.url)
        if not self.model.strip():
            raise ConfigError(
                "no model is named", file=redact_url(self.url), hint="write the model's name after the address"
            )

    def __repr__(self) -> str:
        """Show it without the address's query, in which tokens stand."""
        return f"{type(self).__name__}({self.name!r}, token_env={self.token_env!r})"

    @property
    def name(self) -> str:
        """Name the model and where it is served, without a secret."""
        return f"{redact_url(self.url)}#{self.model}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is to do, and the foreign text it is to do it with."""

    task: str
    text: str


def complete(endpoint: Endpoint, question: Prompt, config: ChatConfig = DEFAULT_CHAT) -> str:
    """Put one question and give the answer's text."""
    payload = {
        "model": endpoint.model,
        "temperature": config.temperature,
        "messages": [{"role": "system", "content": question.task}, {"role": "user", "content": question.text}],
    }
    answer = post_json(
        endpoint.url, payload, token_env=endpoint.token_env, timeout=config.timeout, retries=config.retries
    )
    return _content(answer, endpoint)


def fence(*texts: str, config: ChatConfig = DEFAULT_CHAT) -> str:
    """Make a mark that stands in none of the texts: it is a hash of them all, so none can hold it on purpose."""
    digest = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()[: config.fence_chars]


def prompt_version(*prompts: str) -> str:
    """Name a prompt by its words, so that nobody can change one and forget the version."""
    return fence(*prompts)


def _content(answer: object, endpoint: Endpoint) -> str:
    match answer:
        case {"choices": [{"message": {"content": str(content)}}, *_]}:
            return content
    raise EngineError(
        "the answer has no choices[0].message.content",
        file=redact_url(endpoint.url),
        hint="the address must be that of an OpenAI-compatible /v1/chat/completions",
    )
