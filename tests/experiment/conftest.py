import pytest

from tests.experiment.sweeping import Swept, lay_out, run_here, written


@pytest.fixture(scope="session")
def swept(tmp_path_factory) -> Swept:
    """A finished sweep, run once in this process; tests write beside it and leave `results` and `cache` alone."""
    folder = lay_out(tmp_path_factory.mktemp("swept"))
    assert run_here(folder, "--jobs", "1", "--out", "results") == 0
    return Swept(folder, written(folder / "results"))
