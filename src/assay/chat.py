from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import Final

from assay.errors import ConfigError, EngineError
from assay.http import parse_web_address, post_json
from assay.redaction import redact_url


@dataclass(frozen=True, slots=True)
class ChatConfig:
    #: A local 7B model on two cores reads a few thousand tokens per minute; a hosted one answers in seconds.
    timeout: float = 180.0
    #: Two retries that wait as long as the server requests outlast a per-minute rate limit; an outage is an error.
    retries: int = 2
    #: The most likely completion, so that repeated requests agree as far as the server is deterministic.
    temperature: float = 0.0


DEFAULT_CHAT: Final = ChatConfig()
_CODE_BLOCK: Final = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL)
_FENCE_CHARS: Final = 16  # of 64 hexadecimal digits; 64 bits cannot be guessed


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The URL and model of a chat endpoint, and the environment variable of its token, if any."""

    url: str
    model: str
    token_env: str | None = None

    def __post_init__(self) -> None:
        parse_web_address(self.url)
        if not self.model.strip():
            hint = "set the model: URL#MODEL, --model or the setting `model`"
            raise ConfigError("missing model name", file=redact_url(self.url), hint=hint)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, token_env={self.token_env!r})"

    @property
    def name(self) -> str:
        return f"{redact_url(self.url)}#{self.model}"


@dataclass(frozen=True, slots=True)
class Prompt:
    task: str
    text: str


def complete(endpoint: Endpoint, prompt: Prompt, config: ChatConfig = DEFAULT_CHAT) -> str:
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
        "expected text in choices[0].message.content of the response",
        file=redact_url(endpoint.url),
        hint="use an OpenAI-compatible endpoint (/v1/chat/completions) and a model that returns text",
    )


def make_fence(*texts: str) -> str:
    """Return the first digits of a hash of the texts; no text can contain them, since every edit changes the hash."""
    digest = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()[:_FENCE_CHARS]


def prompt_version(*prompts: str) -> str:
    return make_fence(*prompts)


def load_prompt(name: str) -> str:
    return resources.files("assay.data").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


def quote(text: str, tag: str, *context: str) -> str:
    """Enclose an untrusted text in tags with a mark from `make_fence`, so that the text cannot end the quotation."""
    mark = make_fence(*context, text)
    return f"<{tag} {mark}>\n{text}\n</{tag} {mark}>"


def parse_json(answer: str, *, prose: bool = False) -> object:
    """Parse JSON, bare or in a code block; with `prose`, ignore text around the block; raise ValueError if invalid."""
    block = _CODE_BLOCK.search(answer) if prose else _CODE_BLOCK.fullmatch(answer.strip())
    try:
        value: object = json.loads(block[1] if block else answer.strip())
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    return value
