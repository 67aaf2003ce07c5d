"""A small repository, two runs of it and a server that shows them: made once for all tests of the explorer."""

import pytest

from assay.web.exploring.routes import explorer_routes
from assay.web.server import serve
from tests.web.asking import Client
from tests.web.exploring.serving import OLD, make_run


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    """A small repository with a gold set."""
    root = tmp_path_factory.mktemp("shop")
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
    return root


@pytest.fixture(scope="session")
def runs(repository, tmp_path_factory):
    """A folder with two runs."""
    folder, cache = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("cache")
    make_run(repository / "gold.yaml", folder / "before", OLD, cache=cache)
    make_run(repository / "gold.yaml", folder / "deep" / "after", {"kind": "builtin"}, cache=cache)
    return folder


@pytest.fixture(scope="session")
def client(runs):
    with serve(explorer_routes([runs])) as server:
        yield Client(server.start())
