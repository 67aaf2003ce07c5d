from __future__ import annotations

from assay.corpus.packages import parse_settings


def test_pip_configuration_is_read_as_pip_takes_it() -> None:
    text = (
        "global.index-url='https://a/simple'\nglobal.extra-index-url='\\nhttps://b/simple\\nhttps://c/simple'\n"
        "download.index-url='https://d/simple'\n:env:.find-links='/w /x'\ninstall.index-url='https://no'\n"
        "global.trusted-host='h'\nglobal.cert='/c.pem'\nglobal.proxy='http://p'\nnonsense\n"
    )
    settings = parse_settings(text)
    assert settings.indexes == ("https://d/simple", "https://b/simple", "https://c/simple")
    assert settings.find_links == ("/w", "/x")
    assert (settings.trusted_hosts, settings.cert, settings.proxy) == (("h",), "/c.pem", "http://p")
    assert parse_settings("").indexes == ("https://pypi.org/simple",)
    assert parse_settings("global.no-index='true'").indexes == ()
