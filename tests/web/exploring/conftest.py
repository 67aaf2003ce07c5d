"""A small repository, two runs of it and a server that shows them: made once for all tests of the explorer."""

import pytest

from tests.sharing import shared_folder
from tests.web.exploring.serving import OLD, exploring, make_run


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    """A small repository with a gold set."""
    return shared_folder(tmp_path_factory, "shop", write_repository)


def write_repository(root):
    words = {"cart": "put items into the cart", "tax": "look up the tax rate", "retry": "try a payment again"}
    for name, text in words.items():
        body = "\n\n".join(f'def {name}_{n}(a, b):\n    """{text} {n}."""\n    return a + b\n' for n in range(3))
        (root / f"{name}.py").write_text(f'"""{text}."""\n\n\n{body}', encoding="utf-8")
        (root / f"test_{name}.py").write_text(f'def test_{name}():\n    """Test: {text}."""\n', encoding="utf-8")
    (root / ".env").write_text("SECRET=1\n", encoding="utf-8")
    (root / ".gitignore").write_text(".env\n", encoding="utf-8")
    lines = [
        f"  - id: {name}\n    retrieval: {{primary: [{name}.py]}}\n"
        f"    cognitive: {{human: how do we {text}?, keyword: {text}}}\n"
        f"    interference: [{{target: test_{name}.py, relationship: test, strength: weak, confusion: same words}}]\n"
        for name, text in words.items()
    ]
    (root / "gold.yaml").write_text(
        "assay: 1\nname: shop\ncorpus: {path: .}\nqueries:\n" + "".join(lines), encoding="utf-8"
    )


@pytest.fixture(scope="session")
def runs(repository, tmp_path_factory):
    """A folder with two runs."""

    def make(folder):
        make_run(repository / "gold.yaml", folder / "runs" / "before", OLD)
        make_run(repository / "gold.yaml", folder / "runs" / "deep" / "after")

    return shared_folder(tmp_path_factory, "explored", make) / "runs"


@pytest.fixture(scope="session")
def client(runs):
    with exploring(runs) as client:
        yield client
