"""Client of OpenAI-compatible chat endpoints."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import Final

from assay.errors import ConfigError, EngineError
from assay.http import post_json, redact_url, web_address


@dataclass(frozen=True, slots=True)
class ChatConfig:
    """Settings of a chat request."""

    #: A local 7B model on two cores reads a few thousand tokens per minute; a hosted one answers in seconds.
    timeout: float = 180.0
    #: Two retries outlast a rate limit per minute; an outage is an error.
    retries: int = 2
    #: The most likely completion, so that repeated requests agree as far as the server is deterministic.
    temperature: float = 0.0


DEFAULT_CHAT: Final = ChatConfig()
_CODE_BLOCK: Final = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL)
_FENCE_CHARS: Final = 16  # of 64 hexadecimal digits; 2^64 fences cannot be guessed in advance


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The URL and model of a chat endpoint; the token is read from an environment variable at each call."""

    url: str
    model: str
    token_env: str | None = None

    def __post_init__(self) -> None:
        web_address(self.url)
        if not self.model.strip():
            raise ConfigError(
                "missing model name", file=redact_url(self.url), hint="append the name of the model to the address"
            )

    def __repr__(self) -> str:
        """Omit the query of the URL, which may contain a token."""
        return f"{type(self).__name__}({self.name!r}, token_env={self.token_env!r})"

    @property
    def name(self) -> str:
        """The URL without secrets, and the model."""
        return f"{redact_url(self.url)}#{self.model}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """Instructions for the model, and the untrusted text they apply to."""

    task: str
    text: str


def complete(endpoint: Endpoint, prompt: Prompt, config: ChatConfig = DEFAULT_CHAT) -> str:
    """Send a prompt and return the text of the completion."""
    payload = {
        "model": endpoint.model,
        "temperature": config.temperature,
        "messages": [{"role": "system", "content": prompt.task}, {"role": "user", "content": prompt.text}],
    }
    response = post_json(
        endpoint.url, payload, token_env=endpoint.token_env, timeout=config.timeout, retries=config.retries
    )
    match response:
        case {"choices": [{"message": {"content": str(content)}}, *_]}:
            return content
    raise EngineError(
        "expected choices[0].message.content in the response",
        file=redact_url(endpoint.url),
        hint="use the address of an OpenAI-compatible /v1/chat/completions",
    )


def fence(*texts: str) -> str:
    """Return a delimiter that the texts cannot contain on purpose: a hash of all of them."""
    digest = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()[:_FENCE_CHARS]


def prompt_version(*prompts: str) -> str:
    """Return a version that changes with the text of prompts."""
    return fence(*prompts)


def load_prompt(name: str) -> str:
    """Load a prompt that is shipped with Assay."""
    return resources.files("assay.data").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


def quote(text: str, tag: str, *context: str) -> str:
    """Quote an untrusted text between unpredictable marks, which it cannot close."""
    mark = fence(*context, text)
    return f"<{tag} {mark}>\n{text}\n</{tag} {mark}>"


def parse_json(answer: str, *, prose: bool = False) -> object:
    """Parse an answer that is JSON, bare or in a code block; with `prose`, text around the block is ignored."""
    block = _CODE_BLOCK.search(answer) if prose else _CODE_BLOCK.fullmatch(answer.strip())
    try:
        value: object = json.loads(block[1] if block else answer.strip())
    except RecursionError as error:
        raise ValueError("too many nested values") from error
    return value
