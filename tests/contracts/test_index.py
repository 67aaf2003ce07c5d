"""Index contents, column by column, for every setting that affects them; an update must equal a rebuild."""

import hashlib
import shutil

import numpy as np
import pytest

from tests.contracts.near import check_near
from tests.contracts.sample_corpora import CORPORA, build_index, columns, copy_corpus, corpus_root, index_of, open_index

#: Settings that determine the table; the vectors follow from it.
VARIANTS = {
    "default": (),
    "lines": ("index.chunks.kind=lines", "index.chunks.size=20", "index.chunks.overlap=5"),
    "tokens": ("index.chunks.kind=tokens", "index.chunks.size=200"),
    "characters": ("index.chunks.kind=characters", "index.chunks.size=900"),
    "file": ("index.chunks.kind=file",),
}
FIELDS = ("body", "name", "scope", "signature", "doc", "stem", "folder")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ASSAY_INDEX_DIR", raising=False)


def described(name, array):
    """Return one line for a column: a digest of integers, the norm and a weighted sum of floats."""
    head = f"{name}  {array.dtype} {list(array.shape)}"
    if name.endswith(".codes"):  # signs of floats; a few may differ on another machine
        return f"{head}  share of set bits {np.bitwise_count(array).sum() / (array.size * 64):#.4g}"
    if name.endswith(".int8"):  # rounded floats
        return f"{head}  norm {np.linalg.norm(array.astype(np.float64)):#.6g}"
    if np.issubdtype(array.dtype, np.integer):
        data = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        return f"{head}  sha256 {hashlib.sha256(data).hexdigest()[:16]}"
    values = array.astype(np.float64).ravel()
    rising = np.linspace(0.5, 1.5, len(values))  # detects values that swapped places
    return f"{head}  norm {np.linalg.norm(values):#.6g}  weighted sum {values @ rising:#.6g}"


def check_columns(name, index, only="", absolute=1e-5):
    lines = [described(column, array) for column, array in sorted(columns(index).items()) if column.startswith(only)]
    check_near(name, "\n".join(lines), relative=1e-4, absolute=absolute)


def table_of(index):
    return {name: array for name, array in columns(index).items() if not name.startswith("vectors.")}


def assert_same_table(one, other):
    first, second = table_of(one), table_of(other)
    assert first.keys() == second.keys()
    changed = [
        name
        for name in first
        if first[name].dtype != second[name].dtype or not np.array_equal(first[name], second[name])
    ]
    assert changed == []


def assert_same_vectors(one, other):
    first, second = columns(one), columns(other)
    for name in first:
        if name.startswith("vectors."):
            np.testing.assert_allclose(first[name], second[name], rtol=0, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", CORPORA)
def test_columns(name, variant):
    check_columns(f"index/{name}/{variant}.txt", index_of(name, *VARIANTS[variant]))


@pytest.mark.parametrize("field", FIELDS)
def test_field_weights_change_the_word_counts_only(field):
    weighted = index_of("python_package", f"index.fields.{field}=5")
    plain = table_of(index_of("python_package"))
    changed = {name for name, array in table_of(weighted).items() if not np.array_equal(array, plain[name])}
    assert changed == {"units.length", "postings.count"}
    check_columns(f"index/fields/{field}.txt", weighted, "postings.")


def test_longest_word_leaves_out_what_is_longer():
    short = index_of("systems_mix", "index.longest_word=6")
    assert len(columns(short)["postings.term"]) < len(columns(index_of("systems_mix"))["postings.term"])
    check_columns("index/longest-word.txt", short, "postings.")


@pytest.mark.parametrize("name", CORPORA)
def test_without_dense_there_are_no_vectors_and_the_table_is_the_same(name):
    plain = index_of(name, "dense.model=")
    assert not [column for column in columns(plain) if column.startswith("vectors.")]
    assert_same_table(plain, index_of(name))


@pytest.mark.parametrize("kind", ["int8", "binary"])
def test_quantized_vectors(kind):
    index = index_of("web_app", f"dense.vectors={kind}")
    assert_same_table(index, index_of("web_app"))
    check_columns(f"index/vectors-{kind}.txt", index, "vectors.", absolute=1e-3)


def test_bytes_are_the_vectors_but_for_rounding():
    exact = columns(index_of("web_app"))["vectors.0.float32"]
    rounded = columns(index_of("web_app", "dense.vectors=int8"))
    scale = rounded["vectors.0.scale"][:, None]
    assert np.all(np.abs(rounded["vectors.0.int8"] * scale - exact) <= scale * 0.501)


@pytest.mark.parametrize("name", CORPORA)
def test_index_on_disk_equals_one_built_in_memory(name):
    made = open_index(corpus_root(name))
    read = open_index(corpus_root(name))
    for index in (made, read):
        assert_same_table(index, index_of(name))
        assert_same_vectors(index, index_of(name))


@pytest.mark.parametrize(
    ("name", "variant"),
    [*((name, "default") for name in CORPORA), *(("web_app", variant) for variant in VARIANTS if variant != "default")],
)
def test_update_equals_rebuild(name, variant, tmp_path):
    root = copy_corpus(name, tmp_path / name)
    before = open_index(root, *VARIANTS[variant])
    edit(root)
    updated = open_index(root, *VARIANTS[variant])
    rebuilt = build_index(root, *VARIANTS[variant])
    assert updated.table.files.paths != before.table.files.paths
    assert_same_table(updated, rebuilt)
    assert_same_vectors(updated, rebuilt)


def edit(root):
    """Change, add, rename and remove files of a corpus, including its ignore rules."""
    readme = root / "README.md"
    readme.write_text(readme.read_text(encoding="utf-8").replace("\n## ", "\n## New ", 1), encoding="utf-8")
    (root / "added").mkdir()
    (root / "added" / "retry_policy.py").write_text("def decide_retry(attempt):\n    return attempt < 3\n")
    (root / "added" / "empty.txt").write_text("")
    sources = sorted(path for path in root.rglob("*") if path.suffix in {".py", ".ts", ".go"} and path.stat().st_size)
    largest = max(sources, key=lambda path: (path.stat().st_size, path))
    largest.write_text("\n".join(largest.read_text(encoding="utf-8").split("\n")[10:]), encoding="utf-8")
    smallest = min(sources, key=lambda path: (path.stat().st_size, path))
    smallest.rename(smallest.with_name(f"moved_{smallest.name}"))
    shutil.rmtree(root / ("tests" if (root / "tests").exists() else "third_party"))
    with (root / ".gitignore").open("a", encoding="utf-8") as ignored:
        ignored.write("docs/\n*.sql\n")
