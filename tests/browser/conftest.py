"""One browser a session, a tab a test, and runs that are made once for all of them."""

import pytest

from tests.browser.driving import new_tab, several, start
from tests.browser.sample import make_runs, make_sample
from tests.sharing import shared_folder


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
    return shared_folder(tmp_path_factory, "sample", make_sample) / "results"


@pytest.fixture(scope="session")
def runs(sample, tmp_path_factory):
    """A folder of runs for `assay serve`; tests only read it."""
    return shared_folder(tmp_path_factory, "runs", lambda folder: make_runs(folder, sample))
