"""The settings that a page may change."""

from tests.web.exploring.serving import listed, summary


def test_page_has_every_setting_with_help_and_the_values_of_the_run(client):
    live = summary(client.get(f"/run/{listed(client)['before']['id']}"))["live"]
    named = {one["name"]: one for one in live["settings"]}
    assert named["search.stem.files"]["about"]
    assert named["search.stem.files"]["type"] == "a number"
    assert named["per"]["choices"] == ["auto", "file", "span"]
    assert named["search.index.chunks.size"]["index"]
    assert not named["search.stem.files"]["index"]
    assert not [name for name in named if name.endswith(("url", "token_env"))]
    (mine,) = live["engines"]
    assert mine["values"] == {"per": "file", "search.stem.files": 0.0, "search.dense.model": ""}
