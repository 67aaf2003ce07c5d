"""What looks like a secret in a setting is refused, whatever the kind of engine; what only sounds like one is taken."""

from __future__ import annotations

from typing import Any

import pytest

from assay.engines import make_engine
from assay.engines.secrets import check_literal_secrets, recorded_table, recorded_url, secret_values
from assay.errors import ConfigError

COMMAND: dict[str, Any] = {"kind": "command", "argv": ["tool", "{query}"]}
LINES: dict[str, Any] = {"kind": "command", "argv": ["tool"], "mode": "lines", "request": {"q": "{query}"}}
HTTP: dict[str, Any] = {"kind": "http", "url": "http://h/?q={query}"}
MCP: dict[str, Any] = {"kind": "mcp", "command": ["server"], "tool": "search"}
MCP_URL: dict[str, Any] = {"kind": "mcp", "url": "http://h/mcp", "tool": "search"}

WRITTEN_OUT: dict[str, dict[str, Any]] = {
    "option": {**COMMAND, "argv": ["tool", "--api-key", "hunter22", "{query}"]},
    "option with =": {**COMMAND, "argv": ["tool", "--access_token=hunter22", "{query}"]},
    "header of curl": {**COMMAND, "argv": ["curl", "-H", "Authorization: Bearer hunter22", "http://h/?q={query}"]},
    "script": {**COMMAND, "argv": ["sh", "-c", 'DB_PASSWORD=hunter22 tool "$1"', "sh", "{query}"]},
    "address": {**COMMAND, "argv": ["tool", "http://h/?key=hunter22", "{query}"]},
    "password in an address": {**COMMAND, "argv": ["tool", "--db", "postgres://joe:hunter22@h/db", "{query}"]},
    "well-known shape": {**COMMAND, "argv": ["tool", "ghp_hunter22hunter22hunter22", "{query}"]},
    "index": {**COMMAND, "index": ["tool", "index", "--token", "hunter22"]},
    "update": {**COMMAND, "update": "tool update --token=hunter22"},
    "version": {**COMMAND, "version": "tool --secret hunter22"},
    "filter": {**COMMAND, "path_filter": ["--in={path}", "--token=hunter22"]},
    "env": {**COMMAND, "env": {"AWS_SECRET_ACCESS_KEY": "hunter22"}},
    "env with a number": {**COMMAND, "env": {"MY_TOKEN_2": "hunter22"}},
    "env like a folder's": {**COMMAND, "env": {"DB_PWD": "hunter22"}},
    "request": {**LINES, "request": {"q": "{query}", "auth": {"session_cookie": "hunter22"}}},
    "request as text": {**LINES, "request": "find token=hunter22 {query}"},
    "filter table": {**LINES, "path_filter": {"paths": ["{path}"], "apiKey": "hunter22"}},
    "http": {**HTTP, "headers": {"Ocp-Apim-Subscription-Key": "hunter22"}},
    "http update": {**HTTP, "update": {"url": "http://h/", "body": {"password": "hunter22"}}},
    "http token_env": {**HTTP, "token_env": "sk-hunter22hunter22hunter22"},
    "mcp command": {**MCP, "command": ["server", "--api-key", "hunter22"]},
    "mcp index command": {**MCP, "index_command": "server index --api-key hunter22"},
    "mcp env": {**MCP, "env": {"OPENAI_API_KEY": "hunter22"}},
    "mcp arguments": {**MCP, "arguments": {"query": "{query}", "access_token": "hunter22"}},
    "mcp index": {**MCP, "index": {"tool": "index", "arguments": {"token": "hunter22"}}},
    "mcp update": {**MCP, "update": {"tool": "index", "arguments": {"token": "hunter22"}}},
    "mcp filter": {**MCP, "language_filter": {"lang": "{language}", "token": "hunter22"}},
    "mcp header": {**MCP_URL, "headers": {"X-Auth": "hunter22"}},
    "mcp url": {**MCP_URL, "url": "http://h/mcp?token=hunter22"},
}


@pytest.mark.parametrize("settings", WRITTEN_OUT.values(), ids=WRITTEN_OUT)
def test_secret_that_is_written_out_is_refused_with_the_next_step(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="contains a literal secret") as caught:
        make_engine(settings)
    assert "{env:NAME}" in str(caught.value.hint)
    assert "hunter22" not in str(caught.value)


INNOCENT: dict[str, dict[str, Any]] = {
    "variables": {**COMMAND, "argv": ["tool", "--api-key", "{env:A_KEPT}", "--token={env:A_KEPT}", "{query}"]},
    "header of curl": {**COMMAND, "argv": ["curl", "-H", "Authorization: Bearer {env:A_KEPT}", "{query}"]},
    "limits": {**COMMAND, "argv": ["tool", "--max-tokens", "4000", "--token-budget=90000", "--token", "{query}"]},
    "words": {**COMMAND, "argv": ["tool", "--auth=basic", "--keys", "name", "--tokenizer", "word", "{query}"]},
    "names of models": {**COMMAND, "argv": ["tool", "--model", "sk-learn-embeddings-of-code-v2", "{query}"]},
    "shell variables": {**COMMAND, "argv": ["sh", "-c", 'TOKEN=$TOOL_TOKEN tool "$1"', "sh", "{query}"]},
    "folders": {**COMMAND, "env": {"PWD": "{root}", "TOKEN": "{store}/token", "SECRET": "/run/secrets/x"}},
    "no secret": {**COMMAND, "env": {"API_KEY": "unused", "AUTH_TOKEN": "", "TOKENIZERS_PARALLELISM": "false"}},
    "authors": {**COMMAND, "env": {"GIT_AUTHOR_NAME": "joe", "COOKIE_POLICY": "strict"}},
    "question": {**LINES, "request": {"token": "{query}", "key": "name", "max_tokens": 100}},
    "text": {**LINES, "request": "find token: {query}"},
    "http": {**HTTP, "headers": {"X-Key": "{env:A_KEPT}", "X-Source": "basic"}},
    "pages": {**HTTP, "body": {"page_token": "first", "nextToken": "abcdefgh", "continuation-token": "abcdefgh"}},
    "lengths": {**MCP, "arguments": {"query": "{query}", "max_tokens": "2k words", "next_page_token": "abcdefgh"}},
    "mcp": {**MCP, "arguments": {"query": "{query}", "password": "none", "sort_key": "score"}},
}


@pytest.mark.parametrize("settings", INNOCENT.values(), ids=INNOCENT)
def test_innocent_words_are_taken(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEPT", "hunter22")
    assert make_engine(settings).config


def test_secret_is_told_by_its_setting_and_its_name() -> None:
    with pytest.raises(ConfigError, match=r"^engine x: env: A_TOKEN contains a literal secret"):
        check_literal_secrets("engine x", {"argv": ["a"], "env": {"A_TOKEN": "hunter22"}})
    with pytest.raises(ConfigError, match=r"^engine x: argv contains a literal secret"):
        check_literal_secrets("engine x", {"argv": ["-----BEGIN RSA PRIVATE KEY-----"]})


def test_secret_values_are_those_that_no_record_may_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEPT", "hunter22")
    monkeypatch.setenv("B_KEPT", "token-of-b")
    env = {"A": "{env:A_KEPT}", "PLACE": "{store}/x", "PLAIN": "nobody-knows"}
    url = "http://h/?id=a1b2c3d4e5f6a7b8c9&mode=semantic"
    found = secret_values(["{env:A_KEPT}", env], env=env, urls=[url], token_env="B_KEPT")
    assert found == ("hunter22", "{env:A_KEPT}", "nobody-knows", "a1b2c3d4e5f6a7b8c9", "token-of-b")
    assert recorded_url(url).startswith("http://h/?id=sha256:")
    assert recorded_url(url).endswith("&mode=semantic")


def test_recorded_table_tells_values_apart_and_does_not_say_them() -> None:
    one, two = (recorded_table("env", {"B": value, "A": "x"}) for value in ("hunter22", "hunter23"))
    assert one["env"] == two["env"] == ["A", "B"]
    assert one["env_digest"] != two["env_digest"]
    assert "hunter" not in str(one)
    assert recorded_table("env", {}) == {"env": []}
