"""Corpora: which files are included, their chunks and definitions, and the lines that anchors resolve to."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.corpus.file_types import LANGUAGES, language_extensions
from tests.conftest import write_tree
from tests.contracts.sample_corpora import (
    CORPORA,
    chunks,
    copy_corpus,
    corpus_root,
    gold_file,
    index_of,
    make_engine,
    problems,
    symbol_lines,
    walked,
)
from tests.contracts.snapshot import check, masked

CHUNKINGS = {
    "ast": (),
    "ast-small": ("index.chunks.longest=20", "index.chunks.part=12", "index.chunks.slack=3"),
    "ast-unpacked": ("index.chunks.shortest=0", "index.chunks.whole_class=0"),
    "lines": ("index.chunks.kind=lines", "index.chunks.size=20", "index.chunks.overlap=5"),
    "tokens": ("index.chunks.kind=tokens", "index.chunks.size=200"),
    "characters": ("index.chunks.kind=characters", "index.chunks.size=900", "index.chunks.overlap=100"),
    "file": ("index.chunks.kind=file",),
}

BROKEN_ANCHORS = [
    "src/hydrolog/retri.py",
    "src/hydrolog/alerts",
    "src/hydrolog/client.py:40-400",
    "src/hydrolog/client.py:1-3#0123456789ab",
    "src/hydrolog/stations.py::StationRegistry.fnd",
    "src/hydrolog/stations.py::Station~2",
    "README.md::Retries",
    "build/lib/hydrolog/client.py",
    "scripts/backfill::missing_dates",
    "CHANGES.rst::Changes",
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ASSAY_INDEX_DIR", raising=False)


def listed(corpus):
    """Return one line per included file and one per skipped file."""
    lines = [f"digest {corpus.digest}"]
    for file in corpus.files:
        lines.append(
            f"{file.path}  {file.size} bytes, {file.kind}, {file.language}, sha256 {corpus.hashes[file.path][:12]}"
        )
    for one in corpus.skipped:
        lines.append(f"skipped {one.path}  {one.reason}{f': {one.detail}' if one.detail else ''}")
    return "\n".join([*lines, *(f"note {text}" for text in corpus.notes)])


@pytest.mark.parametrize("name", CORPORA)
def test_which_files_count(name):
    check(f"corpus/{name}/files.txt", listed(walked(corpus_root(name))))


@pytest.mark.parametrize("name", CORPORA)
def test_index_command_reports_the_same_files(name, capsys):
    assert main(["index", str(corpus_root(name)), "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    corpus = walked(corpus_root(name))
    assert found["files"] == len(corpus.files)
    assert found.pop("skipped_files") == [{"path": one.path, "reason": one.reason} for one in corpus.skipped]
    check(f"corpus/{name}/index-command.json", masked(found, ["directory", "index", "bytes", "seconds"]))


# Names that decide the language without an extension, or against it.
NAMES = """
    Authors Brewfile BUILD BUILD.bazel Cargo.lock CHANGELOG CHANGES CMakeLists.txt Containerfile CONTRIBUTING COPYING
    Dockerfile Dockerfile.dev Gemfile GNUmakefile go.mod go.sum go.work Jenkinsfile justfile LICENSE Makefile
    meson.build NEWS NOTICE Package.swift Pipfile Podfile Procfile Rakefile README requirements-dev.txt robots.txt
    SConstruct TODO Vagrantfile WORKSPACE
"""


def test_language_and_kind_by_name(tmp_path):
    named = [
        *NAMES.split(),
        *(f"x.{extension}" for language in LANGUAGES for extension in language_extensions(language)),
    ]
    write_tree(tmp_path, {f"{at:03}/{name}": f"{name}\n" for at, name in enumerate(named)})
    found: dict[str, list[str]] = {}
    for file in walked(tmp_path).files:
        name = Path(file.path).name
        found.setdefault(f"{file.language} ({file.kind})", []).append(name.removeprefix("x"))
    lines = [f"{language}: {' '.join(sorted(names))}" for language, names in sorted(found.items())]
    check("corpus/languages.txt", "\n".join(lines))


def test_include_and_exclude():
    root = corpus_root("web_app")
    included = walked(root, include=("*.ts", "!*.d.ts"), exclude=("tests/",))
    excluded = walked(root, exclude=("/client/", "*.yml", "!client/index.html"))
    one_folder = walked(root / "server")
    check(
        "corpus/web_app/globs.json",
        {
            "include *.ts but not *.d.ts, exclude tests/": [file.path for file in included.files],
            "exclude /client/ and *.yml, but not client/index.html": [file.path for file in excluded.files],
            "the folder server alone": [file.path for file in one_folder.files],
        },
    )


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_what_git_tracks_counts_in_spite_of_ignore_rules(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    root = copy_corpus("systems_mix", tmp_path / "systems_mix")
    write(root / "vendor" / "untracked.go", "package vendor\n")
    write(root / "bin" / "tracked.sh", "echo tracked\n")
    write(root / "native" / "libnative.so", "INPUT(libnative.a)\n")
    git(root, "init", "--quiet")
    git(root, "add", "--force", "README.md", "bin", "docs/drafts", "docs/generated", "native/libnative.so")
    write(root / ".git" / "info" / "exclude", "android/\n")
    check("corpus/systems_mix/files-with-git.txt", listed(walked(root)))


def git(root: Path, *command: str) -> None:
    subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_digest_depends_on_paths_and_contents_alone(tmp_path):
    first = copy_corpus("systems_mix", tmp_path / "first")
    digest = walked(first).digest
    assert digest == walked(corpus_root("systems_mix")).digest
    write(first / "README.md", (first / "README.md").read_text(encoding="utf-8") + "\n")
    assert walked(first).digest != digest


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("name", CORPORA)
def test_chunks(name, chunking):
    index = index_of(name, *CHUNKINGS[chunking])
    found = "\n".join(map(str, chunks(index)))
    check(f"corpus/{name}/chunks-{chunking}.txt", found)


@pytest.mark.parametrize("name", CORPORA)
def test_chunks_by_syntax_cover_every_line_once(name):
    index = index_of(name)
    covered: dict[str, list[int]] = {}
    for chunk in chunks(index):
        covered.setdefault(chunk.path, []).extend(range(chunk.start, chunk.end + 1))
    for path, lines in covered.items():
        text = (corpus_root(name) / path).read_bytes()
        count = text.count(b"\n") + (not text.endswith(b"\n") and text != b"")
        assert lines == list(range(1, count + 1)), path


def test_files_that_do_not_parse_are_reported():
    found = {name: problems(index_of(name)) for name in CORPORA}
    assert found == {
        "python_package": [],
        "web_app": [],
        "systems_mix": ["agent/go.mod: its syntax has errors, and no definition was found"],
    }


@pytest.mark.parametrize("name", CORPORA)
def test_symbols(name):
    check(f"corpus/{name}/symbols.txt", "\n".join(symbol_lines(corpus_root(name))))


@pytest.mark.parametrize("name", CORPORA)
def test_anchors_lead_to_lines(name):
    suite = assay.load_gold(gold_file(name))
    run = assay.run({"oracle": make_engine("oracle", suite=suite)}, suite)
    lines = []
    for query in run.suite.golds[0].queries:
        anchored = [*query.targets, *(adversary.target for adversary in query.adversaries)]
        lines += [f"{query.id}: {target.anchor} -> {target.span}, unit {target.unit}" for target in anchored]
    check(f"corpus/{name}/anchors.txt", "\n".join(lines))


def test_broken_anchors_are_explained(tmp_path, capsys):
    queries = [
        {"id": f"q{number}", "retrieval": {"primary": [anchor]}, "cognitive": {"human": f"question {number}"}}
        for number, anchor in enumerate(BROKEN_ANCHORS)
    ]
    gold = {"assay": 1, "name": "broken", "corpus": {"path": str(corpus_root("python_package"))}, "queries": queries}
    write(tmp_path / "gold.yaml", json.dumps(gold))
    assert main(["gold", "lint", str(tmp_path / "gold.yaml"), "--select", "G1", "--json", "--quiet"]) == 2
    findings = [one for one in json.loads(capsys.readouterr().out)["findings"] if one["anchor"]]
    assert [one["anchor"] for one in findings] == BROKEN_ANCHORS
    lines = [f"{one['anchor']}\n  {one['code']} {one['message']}\n  hint: {one['hint']}" for one in findings]
    check("corpus/python_package/broken-anchors.txt", "\n".join(lines))
