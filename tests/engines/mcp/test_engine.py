"""What an MCP engine is told, and what is recorded of it."""

from __future__ import annotations

from typing import Any

import pytest

from assay.errors import ConfigError
from tests.engines.mcp.conftest import engine_of

URL = "http://host/mcp"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"update": "again"}, "got 'again'"),
        ({"update": "index"}, 'update = "index" requires `index_command`'),
        ({"update": "restart", "url": URL}, 'update = "restart" cannot be combined with `url`'),
        ({"index_command": "tool index", "url": URL}, "`index_command` cannot be combined with `url`"),
        ({"index_command": "tool index {query}"}, r"index_command: .*placeholder \{query\}"),
        ({"index_command": "tool index && tool check"}, "index_command: shell operator '&&' is not supported"),
        ({"command": "server 2> log"}, "command: shell operator '2>' is not supported"),
        ({"command": "server 'x"}, "cannot split the command: No closing quotation"),
        ({"index": {"tool": "index", "arguments": {"at": "{rooot}"}}}, r"index: .*placeholder \{rooot\}"),
    ],
)
def test_mcp_engine_with_settings_that_cannot_work_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        engine_of(**settings)


def test_mcp_engine_records_every_setting_that_shapes_the_ranking() -> None:
    changes: list[dict[str, Any]] = [
        {"command": "other"}, {"index_command": "tool index"}, {"index_command": "tool index", "update": "index"},
        {"update": "restart"}, {"env": {"A": "1"}}, {"env": {"A": "2"}}, {"env": {"B": "1"}}, {"content": "text"},
        {"index": {"tool": "index"}}, {"path": "[].p"}, {"path": "[].p", "snippet": "[].t"}, {"tokens": "usage"},
        {"calls": "usage"}, {"oversample": 2}, {"timeout": 3}, {"path_filter": {"in": "{path}"}}, {"git": True},
    ]  # fmt: skip
    configs = [repr(engine_of(**change).config) for change in ({}, *changes)]
    assert len(set(configs)) == len(configs)
    for change in ({"restarts": 9}, {"startup_timeout": 9}, {"index_timeout": 9}):
        assert engine_of(**change).config == engine_of().config


def test_mcp_engine_records_names_of_headers_and_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_KEPT", "hunter22")
    one, two = (engine_of(url=URL, headers={"X-Api-Key": f"{{env:TOY_KEPT}}{n}"}).config for n in (1, 2))
    assert one["headers"] == ["X-Api-Key"]
    assert one["headers_digest"] != two["headers_digest"]
    assert "TOY_KEPT" not in repr(one)


def test_mcp_engine_of_a_program_or_told_a_folder_gets_a_copy() -> None:
    assert engine_of().private
    assert not engine_of(url=URL).private
    assert engine_of(url=URL, index={"tool": "index", "arguments": {"root": "{root}"}}).private
