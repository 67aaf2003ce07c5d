from __future__ import annotations

from assay.corpus.packages import parse_config, settings_from


def test_pip_configuration_is_read_as_pip_takes_it() -> None:
    text = (
        "global.index-url='https://a/simple'\nglobal.extra-index-url='\\nhttps://b/simple\\nhttps://c/simple'\n"
        "download.index-url='https://d/simple'\n:env:.find-links='/w /x'\ninstall.index-url='https://no'\n"
        "global.trusted-host='h'\nglobal.cert='/c.pem'\nglobal.proxy='http://p'\nnonsense\n"
    )
    settings = settings_from(parse_config(text))
    assert settings.indexes == ("https://d/simple", "https://b/simple", "https://c/simple")
    assert settings.find_links == ("/w", "/x")
    assert (settings.trusted_hosts, settings.cert, settings.proxy) == (("h",), "/c.pem", "http://p")
    assert settings_from({}).indexes == ("https://pypi.org/simple",)
    assert settings_from({"no-index": "true"}).indexes == ()
