"""The shipped sets are as large, as hard and as careful as they say, and fit the library of every supported Python."""

import json
import re
import zipfile
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
import yaml

from assay.cli.main import main
from assay.corpus import open_corpus
from assay.errors import SetupError
from assay.gold import load_gold, overlaps, resolve
from assay.gold.formats.native import RELATIONSHIPS, STRENGTHS
from assay.types import PRIMARY, Corpus, CorpusSpec, GoldSet

#: npm packages that carry the .py files of a standard library (without test/), and the Python they are of.
PYODIDE = {"3.12": "0.27.7", "3.13": "0.29.5", "3.14": "314.0.7"}
#: Share of anchors outside test/ that a version may lack: modules do leave the library, but not many at a time.
MISSING_LIMIT = 0.05

FORMS = {"human", "ai_optimized", "keyword", "wrong_terminology"}


#: The least that each set has: intents, and modules they are about.
SIZES = {"stdlib": (150, 100), "stdlib-docs": (40, 30)}


@pytest.fixture(scope="module", params=SIZES)
def gold(request: pytest.FixtureRequest) -> GoldSet:
    """Give each shipped set."""
    return load_gold(request.param).golds[0]


def anchors(gold: GoldSet) -> set[str]:
    """List the distinct anchors outside test/, which not every installation has."""
    targets = [t for query in gold.queries for t in (*query.targets, *(a.target for a in query.adversaries))]
    return {target.anchor for target in targets if not target.anchor.startswith("test/")}


def missing(gold: GoldSet, corpus: Corpus) -> dict[str, str]:
    """Give the problems with anchors outside test/, each anchor once."""
    problems = resolve(gold, corpus, missing="report").problems
    assert all(problem.message and problem.file and problem.line for problem in problems)
    return {p.anchor: p.message for p in problems if p.anchor and not p.anchor.startswith("test/")}


def test_stdlib_set_covers_enough_intents_and_modules(gold):
    modules = {target.span.path.split("/")[0].removesuffix(".py") for q in gold.queries for target in q.targets}
    assert gold.corpus == CorpusSpec("stdlib")
    assert len(gold.queries) >= SIZES[gold.name][0]
    assert len(modules) >= SIZES[gold.name][1]


def test_stdlib_set_has_a_hard_third(gold):
    hard = [query for query in gold.queries if query.tags["difficulty"] == "hard"]
    assert len(hard) * 3 >= len(gold.queries)
    assert {query.tags["difficulty"] for query in gold.queries} == {"standard", "hard"}


def test_stdlib_sets_share_no_question():
    queries = [query for name in SIZES for query in load_gold(name).golds[0].queries]
    assert len({query.id for query in queries}) == len(queries)
    assert len({query.forms["human"] for query in queries}) == len(queries)


def test_stdlib_set_has_all_forms_and_they_differ(gold):
    for query in gold.queries:
        assert set(query.forms) >= FORMS, query.id
        assert len(set(query.forms.values())) == len(query.forms), query.id
    assert any("cross_module" in query.forms for query in gold.queries)


def test_stdlib_set_anchors_primaries_to_symbols(gold):
    primaries = [target for query in gold.queries for target in query.targets if target.grade == PRIMARY]
    assert [target.anchor for target in primaries if target.symbol is None] == []


def test_stdlib_set_names_adversaries_and_a_boundary(gold):
    for query in gold.queries:
        assert query.adversaries, query.id
        for adversary in query.adversaries:
            assert adversary.relationship in RELATIONSHIPS
            assert adversary.strength in STRENGTHS
            assert adversary.confusion
        assert query.rationale is not None, query.id
        assert all((query.rationale.owner, query.rationale.reason, query.rationale.boundary)), query.id


def test_stdlib_set_keeps_adversaries_out_of_target_files(gold):
    for query in gold.queries:
        answers = {target.span.path for target in query.targets}
        assert answers.isdisjoint(adversary.target.span.path for adversary in query.adversaries), query.id


def test_stdlib_set_asks_a_third_of_its_questions_in_other_words(gold):
    free = [query.id for query in gold.queries if not overlaps(query.forms["human"], query.targets)]
    assert len(free) * 3 >= len(gold.queries)


@pytest.mark.parametrize("name", SIZES)
def test_stdlib_set_validates_against_the_schema(name):
    data = files("assay") / "data"
    schema = json.loads((data / "schemas" / "gold.schema.json").read_text("utf-8"))
    document = yaml.load(
        (data / "gold" / f"{name}.yaml").read_text("utf-8"), Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    )
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(document)) == []


@pytest.mark.parametrize("name", [pytest.param("stdlib", marks=pytest.mark.nightly), "stdlib-docs"])
def test_stdlib_set_is_clean_for_its_own_linter(name, capsys):
    main(["gold", "lint", name, "--json", "--quiet"])
    found = [one for one in json.loads(capsys.readouterr().out)["findings"] if one["severity"] != "info"]
    # whether anchors are there depends on the version, and is checked below
    assert [one for one in found if not one["code"].startswith("G1")] == []


@pytest.fixture(scope="module")
def running_library(tmp_path_factory) -> Corpus:
    return open_corpus(CorpusSpec("stdlib"), cache=tmp_path_factory.mktemp("cache"))


@pytest.mark.nightly  # the linter above resolves one set, and test_stdlib_run.py a part of the other
def test_stdlib_set_resolves_on_the_running_interpreter(gold, running_library):
    lacking = missing(gold, running_library)
    assert len(lacking) <= MISSING_LIMIT * len(anchors(gold)), lacking


def library(version: str, folder: Path) -> Corpus:
    """Unpack the standard library of a Python version from its npm package, or skip and say why."""
    try:
        package = open_corpus(CorpusSpec("npm", f"pyodide@{PYODIDE[version]}"), cache=folder / "cache")
    except SetupError as error:
        pytest.skip(f"the library of Python {version} was NOT checked: {error}")
    with zipfile.ZipFile(package.root / "python_stdlib.zip") as archive:
        archive.extractall(folder / "lib", [name for name in archive.namelist() if name.endswith(".py")])
    return open_corpus(CorpusSpec("path", str(folder / "lib")), cache=folder / "cache")


@pytest.mark.nightly
@pytest.mark.parametrize("version", PYODIDE)
def test_stdlib_set_resolves_on_other_versions(gold, tmp_path, version):
    corpus = library(version, tmp_path)
    lacking = missing(gold, corpus)
    assert len(lacking) <= MISSING_LIMIT * len(anchors(gold)), lacking
    assert all(re.search(r"is not in|cannot be found", message) for message in lacking.values())


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["click", "pqueue"])
def test_sets_of_packages_resolve_without_findings(name):
    (gold,) = load_gold(name).golds
    try:
        corpus = open_corpus(gold.corpus)
    except SetupError as reason:
        pytest.skip(f"LOUD: the package of {name} cannot be fetched, its set was NOT tested: {reason}")
    assert resolve(gold, corpus, missing="report").problems == ()
    assert len(gold.queries) >= 8
