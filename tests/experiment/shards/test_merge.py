"""Four parts, put together, are the run; what does not belong together is named."""

import gzip
import json
import shutil

import pytest

from assay.cli.main import main
from assay.errors import InputError, NotComparableError
from assay.experiment.shards import merge_shards, read_shard, write_shard
from assay.search.signals import FileStem
from tests.experiment.sweeping import CELLS, lay_out, run_here, written

OF = 4


@pytest.fixture(scope="module")
def ground(swept):
    """The sweep in four parts that shared nothing with the whole run, and a part of another plan."""
    for index in range(1, OF + 1):
        part = ("--shard", f"{index}/{OF}", "--out", f"part{index % 2}")
        assert run_here(swept.folder, "--jobs", "1", *part, cache="cache-parts") == 0
    other = ("--shard", f"2/{OF}", "--out", "other", "--only", "mine", "--set", "run.k=3")
    assert run_here(swept.folder, "--jobs", "1", *other, cache="cache-other") == 0
    return swept.folder


@pytest.fixture
def here(ground, tmp_path, monkeypatch):
    """Another folder with the same gold sets and code, which the report takes its source from."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    lay_out(tmp_path)
    for name in ("part0", "part1"):
        shutil.copytree(ground / name, tmp_path / name)
    return tmp_path


def shards(folder):
    return sorted(folder.glob("part*/shards/*"))


def test_merged_shards_are_the_unsharded_run_byte_for_byte(swept, here):
    assert main(["merge", "--quiet", "part0", "part1", "--out", "merged"]) == 0
    assert written(here / "merged") == swept.results


TWINS = """\
[run]
gold = ["one.yaml"]
baseline = "mine"
jobs = 1
references = false

[engines.mine]
kind = "builtin"

[sweeps.w]
engine = "mine"
params = { "search.stem.files" = [DEFAULT, 0.7] }
"""


def test_point_that_is_the_base_is_one_cell_under_two_names_and_merges_all_the_same(tmp_path):
    """The second shard finds what the first kept, under the name of the first."""
    lay_out(tmp_path)
    (tmp_path / "assay.toml").write_text(TWINS.replace("DEFAULT", str(FileStem().files)))
    assert run_here(tmp_path, "--out", "whole", cache="cache-whole") == 0
    for index in (1, 2, 3):
        assert run_here(tmp_path, "--shard", f"{index}/3", "--out", f"part{index}", cache="cache-parts") == 0
    spent = [
        next(iter(read_shard(path).results.cells.values())).spent for path in sorted(tmp_path.glob("part*/shards/*"))
    ]
    assert spent[0] == spent[1] != spent[2]  # the second was taken, not asked
    parts = [str(tmp_path / f"part{index}") for index in (1, 2, 3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert main(["merge", "--quiet", *parts, "--out", "merged"]) == 0
    assert written(tmp_path / "merged") == written(tmp_path / "whole")


def test_shards_of_a_plan_have_all_its_cells_once(here):
    parts = [read_shard(path) for path in shards(here)]
    cells = [cell for part in sorted(parts, key=lambda part: part.shard) for cell in part.results.cells]
    assert tuple(cells) == parts[0].summary.cells
    assert len(cells) == len(set(cells)) == CELLS


def test_shard_that_was_read_is_written_the_same(here):
    path = shards(here)[0]
    write_shard(here / "again", read_shard(path))
    assert (here / "again").read_bytes() == path.read_bytes()


def test_shard_given_twice_is_fine(swept, here):
    files = [*map(str, shards(here)), "part0", "part1/shards"]
    assert main(["merge", "--quiet", *files, "--out", "merged"]) == 0
    assert written(here / "merged") == swept.results


def test_missing_shards_are_named(here):
    shards(here)[0].unlink()
    with pytest.raises(InputError, match="1 of 4 shards are missing: 2/4") as caught:
        merge_shards([here / "part0", here / "part1"])
    assert f"assay run --shard 2/4 --out {here / 'part1'}" in str(caught.value)
    assert main(["merge", "part0", "part1", "--out", "merged"]) == 2
    assert not (here / "merged").exists()


def test_shard_without_cells_says_so(ground, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ground)
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    assert main(["run", "--shard", "1/100", "--out", str(tmp_path / "thin")]) == 0
    assert f"shard 1/100, 0 of {CELLS} cells, written to" in " ".join(capsys.readouterr().err.split())


def test_shard_of_another_plan_is_refused(ground, here):
    stranger = ground / "other" / "shards" / "2-of-4.jsonl.gz"
    with pytest.raises(NotComparableError, match="the plan differs from") as caught:
        merge_shards([here / "part1", stranger])
    assert caught.value.file == str(stranger)
    assert main(["merge", "part0", "part1", str(stranger), "--out", "merged"]) == 5


def test_shards_of_another_division_are_refused(here):
    odd = gzip.decompress(shards(here)[0].read_bytes()).splitlines()
    path = here / "part0" / "shards" / "9-of-9.jsonl.gz"
    write_again(path, [odd[0].replace(b'"index":2,"of":4', b'"index":9,"of":9'), *odd[1:-1]])
    with pytest.raises(NotComparableError, match="this is shard 9/9"):
        merge_shards([here / "part0", here / "part1"])


def test_shards_that_saw_different_corpora_are_refused(here):
    for path in shards(here):
        lines = gzip.decompress(path.read_bytes()).splitlines()
        if path.name.startswith("2"):
            write_again(path, [line.replace(b'"digest":"', b'"digest":"0') for line in lines[:-1]])
    with pytest.raises(NotComparableError, match=r"the corpus or the queries of (one|two) differ from"):
        merge_shards([here / "part0", here / "part1"])


def test_two_answers_for_one_cell_are_refused(here):
    path = shards(here)[0]
    *lines, last, _ = gzip.decompress(path.read_bytes()).splitlines()
    row = json.loads(last)
    row["cell"]["engine"]["version"] = "9"
    write_again(here / "copy.jsonl.gz", [*lines, json.dumps(row).encode()])
    with pytest.raises(InputError, match="the result of .* differs from"):
        merge_shards([here / "part0", here / "part1", here / "copy.jsonl.gz"])


def write_again(path, lines):
    """Write a shard whose checksum fits what somebody made of it."""
    import hashlib

    body = b"".join(line + b"\n" for line in lines)
    path.write_bytes(gzip.compress(body + b'{"sha256":"%s"}\n' % hashlib.sha256(body).hexdigest().encode()))


def cut(data):
    return data[: len(data) // 2]


def flip(data):
    return data[:-20] + bytes([data[-20] ^ 1]) + data[-19:]


def alter(data):
    return gzip.compress(gzip.decompress(data).replace(b"cart", b"tart", 1))


def shorten(data):
    lines = gzip.decompress(data).splitlines(keepends=True)
    return gzip.compress(b"".join([*lines[:-2], lines[-1]]))


def empty(_):
    return b""


def unpack(data):
    return gzip.decompress(data)


def pack_nothing(_):
    return gzip.compress(b"")


@pytest.mark.parametrize("damage", [cut, flip, alter, shorten, empty, unpack, pack_nothing])
def test_corrupt_shard_is_named(here, damage):
    path = shards(here)[1]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError) as caught:
        merge_shards([here / "part0", here / "part1"])
    assert caught.value.file == str(path)
    assert "assay run --shard 4/4" in str(caught.value)


def test_folder_without_shards_and_file_that_is_not_there(here):
    (here / "empty").mkdir()
    with pytest.raises(InputError, match="no shards found"):
        merge_shards([here / "empty"])
    with pytest.raises(InputError, match="no such file"):
        merge_shards([here / "nothing.jsonl.gz"])


def test_shard_with_times_is_refused(ground, monkeypatch):
    monkeypatch.chdir(ground)
    assert main(["run", "--quiet", "--times", "--shard", "1/4", "--out", "timed"]) == 2
