"""The documentation site, opened from a disk: nothing is missing, nobody is asked, and search finds."""

import pytest

from tests.docs.test_site import site  # noqa: F401  # the fixture that builds it

pytestmark = pytest.mark.nightly


def test_search_works_from_a_disk(browser, site):  # noqa: F811  # the fixture, not the function
    browser.open((site / "guides/report.html").as_uri())
    browser.run("document.querySelector('label[for=__search]').click()")
    browser.fill("input.md-search__input", "baseline")
    browser.wait(lambda: browser.all(".md-search-result__link"), "nothing was found")
    assert "ci.html" in str(browser.all(".md-search-result__link")[0].get_attribute("href"))
    assert browser.console_errors() == []
    assert [url for url in browser.requests() if not url.startswith(("file:", "about:", "data:"))] == []
