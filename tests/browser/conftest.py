"""One browser a session; a page each test."""

import pytest

from tests.browser.driving import new_tab, several, start
from tests.browser.sample import make_sample


@pytest.fixture(scope="session")
def driver():
    driver = start()
    yield driver
    driver.quit()


@pytest.fixture
def browser(driver):
    """A tab that is as good as new."""
    yield from new_tab(driver)


@pytest.fixture
def two_browsers():
    """Two browsers that share nothing: two people."""
    yield from several(2)


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """A folder of results with everything in it that a page has to show, names that attack it above all."""
    return make_sample(tmp_path_factory.mktemp("sample"))
