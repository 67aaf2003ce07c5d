from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from assay.engines.base import EngineContext
from assay.engines.http import make
from assay.errors import ConfigError
from tests.engines.http.conftest import TOKEN, engine_of

URL = "http://h/?q={query}"


@pytest.fixture(autouse=True)
def another(monkeypatch):
    monkeypatch.setenv("SHOP_KEY", "another-secret")


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no url": ({}, "missing setting 'url'"),
    "unknown": ({"url": URL, "headerz": {}}, "headerz"),
    "no query": ({"url": "http://h/"}, r"no \{query\} in `url` or `body`"),
    "no address": ({"url": "h/?q={query}"}, "the address is not a valid HTTP or HTTPS URL"),
    "a file": ({"url": "file:///etc/passwd?q={query}"}, "the address is not a valid HTTP or HTTPS URL"),
    "broken address": ({"url": "http://[::1/?q={query}"}, "the address is not a valid HTTP or HTTPS URL"),
    "password": ({"url": "http://joe:hunter22@h/?q={query}"}, "user name or a password"),
    "host by query": ({"url": "http://{query}/"}, "the host contains a placeholder"),
    "host by part": ({"url": "http://{query}.h/"}, "the host contains a placeholder"),
    "misspelt": ({"url": "http://h/?q={qurey}&p={query}"}, r"url: .*placeholder \{qurey\}"),
    "query in header": ({"url": URL, "headers": {"X": "{query}"}}, r"headers: .*placeholder \{query\}"),
    "query in index": ({"url": URL, "index": {"url": URL}}, r"index: url: .*placeholder \{query\}"),
    "no variable": ({"url": URL, "headers": {"X": "{env:SHOP_NONE}"}}, "SHOP_NONE is not set"),
    "no token": ({"url": URL, "token_env": "SHOP_NONE"}, "SHOP_NONE is not set"),
    "method": ({"url": URL, "method": "STEAL"}, "method"),
    "header": ({"url": URL, "headers": {"Host": "x"}}, "cannot set the header"),
    "rate": ({"url": URL, "rate": 0}, "rate: expected more than 0"),
    "concurrency": ({"url": URL, "concurrency": 0}, "concurrency: expected at least 1, got 0"),
    "retries": ({"url": URL, "retries": -1}, "retries: expected at least 0, got -1"),
    "timeout": ({"url": URL, "timeout": 0}, "timeout: expected more than 0, got 0"),
    "every": ({"url": URL, "ready": {"url": "http://h/", "path": "x", "every": 0}}, "every: expected more than 0"),
    "ready for nothing": (
        {"url": URL, "ready": {"url": "http://h/", "path": "x"}},
        "`ready` requires `index` or `update`",
    ),
    "ready nowhere": (
        {"url": URL, "index": {"url": "http://h/"}, "ready": {"url": "http://h/", "path": ".."}},
        "invalid selector",
    ),
    "form of nothing": ({"url": URL, "form": True}, "requires a table as `body`"),
    "form of tables": ({"url": URL, "form": True, "body": {"a": {"b": 1}}}, "a form or URL cannot contain a table"),
    "filter": ({"url": URL, "path_filter": {"p": "x"}}, r"path_filter has no \{path\}"),
    "filter of text": ({"url": URL, "body": "x", "path_filter": {"p": "{path}"}}, "requires a table as `body`"),
    "filter misspelt": ({"url": URL, "language_filter": {"p": "{langauge}"}}, "langauge"),
}


@pytest.mark.parametrize(("settings", "said"), WRONG.values(), ids=WRONG)
def test_http_settings_that_cannot_work_are_refused(settings, said):
    with pytest.raises(ConfigError, match=said) as caught:
        engine_of(**settings)
    assert caught.value.hint or "expected" in caught.value.message
    assert "hunter22" not in str(caught.value)


LITERAL: dict[str, dict[str, Any]] = {
    "authorization": {"headers": {"Authorization": "Bearer hunter22"}},
    "small letters": {"headers": {"authorization": "hunter22"}},
    "api key": {"headers": {"X-Api-Key": "hunter22"}},
    "bare key": {"headers": {"Ocp-Apim-Subscription-Key": "hunter22"}},
    "token": {"headers": {"PRIVATE-TOKEN": "hunter22"}},
    "cookie": {"headers": {"Cookie": "session=hunter22"}},
    "scheme": {"headers": {"X-Other": "Basic hunter22"}},
    "a place is no variable": {"headers": {"X-Api-Key": "hunter22{root}"}},
    "url": {"url": f"{URL}&key=hunter22"},
    "url token": {"url": f"{URL}&access_token=hunter22"},
    "url quoted": {"url": f"{URL}&api%5Fkey=hunter22"},
    "body": {"body": {"deep": [{"apiKey": "hunter22"}]}},
    "body list": {"body": {"api_key": ["hunter22"]}},
    "index": {"index": {"url": "http://h/", "headers": {"X-Api-Key": "hunter22"}}},
    "ready": {"index": {"url": "http://h/"}, "ready": {"url": "http://h/?token=hunter22", "path": "x"}},
    "filter": {"path_filter": {"p": "{path}", "password": "hunter22"}},
}


@pytest.mark.parametrize("settings", LITERAL.values(), ids=LITERAL)
def test_http_settings_with_a_secret_written_out_are_refused(settings):
    with pytest.raises(ConfigError, match="contains a literal secret") as caught:
        engine_of(**{"url": URL, **settings})
    assert "{env:NAME}" in str(caught.value.hint)
    assert "hunter22" not in str(caught.value)


HARMLESS: list[dict[str, Any]] = [
    {"headers": {"Authorization": "Bearer {env:SHOP_KEY}", "X-Source": "assay", "Accept": "application/json"}},
    {"url": f"{URL}&key={{env:SHOP_KEY}}&sort_key=score&mode=semantic"},
    {"body": {"max_tokens": 100, "tokenizer": "code", "key": "score", "author": "joe", "token": ""}},
]


@pytest.mark.parametrize("settings", HARMLESS)
def test_http_settings_without_a_secret_are_taken(settings):
    assert engine_of(**{"url": URL, **settings}).settings


def test_http_config_holds_templates_and_no_values(monkeypatch):
    engine = engine_of(
        url="http://h/{env:SHOP_KEY}/search?q={query}&key={env:SHOP_KEY}&mode=semantic-search&id=a1b2c3d4e5f6a7b8c9",
        headers={"X-Api-Key": "{env:SHOP_KEY}"},
        body={"api_key": "{env:SHOP_KEY}", "q": "{query}"},
        index={"url": "http://h/", "headers": {"Authorization": "Token {env:SHOP_KEY}"}},
        token_env="SHOP_TOKEN",
    )
    shown = json.dumps(engine.config) + repr(engine) + repr(engine.settings)
    assert "another-secret" not in shown
    assert TOKEN not in shown
    recorded = str(engine.config["url"])
    assert recorded.startswith(
        "http://h/{env:SHOP_KEY}/search?q={query}&key={env:SHOP_KEY}&mode=semantic-search&id=sha256:"
    )
    assert "a1b2c3d4e5f6a7b8c9" not in json.dumps(engine.config)
    assert set(engine.secrets) == {"another-secret", "a1b2c3d4e5f6a7b8c9", TOKEN}
    before = engine.config
    monkeypatch.setenv("SHOP_KEY", "yet-another-secret")
    assert engine.config == before


def test_http_settings_read_an_address_that_the_command_line_split():
    assert make({"url": "//h/?q={query}"}, EngineContext()).settings.url == "http://h/?q={query}"


def test_http_settings_know_the_folders(tmp_path):
    engine = make(
        {"url": URL, "body": {"at": "{here}", "p": "{preset}"}},
        EngineContext(directory=tmp_path, preset=tmp_path / "p"),
    )
    assert engine.placeholders == {"here": str(tmp_path), "preset": str(tmp_path / "p"), "python": sys.executable}
    with pytest.raises(ConfigError, match="preset"):
        engine_of(url=URL, body={"p": "{preset}"})
