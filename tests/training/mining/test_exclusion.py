import re
from dataclasses import replace

import numpy as np
import pytest

from assay.errors import ConfigError
from assay.training.config import FileRules, MiningConfig, WindowRules
from assay.training.mining import prepare
from assay.training.repositories import find_repositories, repository_name
from assay.training.selection import (
    Exclusions,
    build_exclusions,
    compare,
    copied_lines,
    cut_windows,
    hash_windows,
    merge_windows,
    read_exclusions,
)
from assay.training.shards import KINDS
from tests.training.mining.samples import DOCS, FILES, GO, PYTHON, RUST, make, mined, pairs
from tests.training.toy import MIT, git

RULES = WindowRules()
BLOCK = """\
def repaint_fence(fence, paint, weather):
    if weather.is_raining() or fence.wet:
        raise TooWet(fence, until=weather.dry_again())
    for board in fence.boards:
        board.colour = paint.mixed_with(board.colour)
    return fence.painted(paint, boards=len(fence.boards))
"""
HENS = '''\
def feed_hens(hens, corn):
    """Give every hen her share of the corn."""
    for hen in hens:
        hen.eat(corn)
    return corn.left_over(hens)
'''


def test_list_holds_addresses_and_names(tmp_path):
    (tmp_path / "never.txt").write_text(
        "# head\nhttps://github.com/Some/Thing.git\n\nother/one  # why\ngit@host.org:a/b.git\n"
    )
    assert read_exclusions(tmp_path / "never.txt").names == ("Some/Thing", "a/b", "other/one")


@pytest.mark.parametrize("line", ["thing", "two words/here", "a//b c"])
def test_list_with_a_line_that_names_nothing_is_refused(tmp_path, line):
    (tmp_path / "never.txt").write_text(f"a/b\n{line}\n")
    with pytest.raises(ConfigError, match=rf"never.txt:2: .*{re.escape(line)}"):
        read_exclusions(tmp_path / "never.txt")


@pytest.mark.parametrize(
    "address",
    ["https://github.com/Own/It", "https://user:word@github.com/Own/It.git/", "git@github.com:Own/It.git", "Own/It"],
)
def test_addresses_of_one_repository_have_one_name(address):
    assert repository_name(address) == "Own/It"


def why(folder, *names):
    (one,) = find_repositories(folder)
    return Exclusions(names).find_reason(one)


def test_repository_is_excluded_by_address(tmp_path):
    folder = make(tmp_path / "copy", FILES)
    assert why(tmp_path, "own/it") is None
    git(folder, "remote", "add", "origin", "https://github.com/Own/It.git")
    assert why(tmp_path, "other/thing", "own/it") == "excluded: own/it is on the exclusion list"


def test_repository_is_excluded_by_name_and_as_a_fork(tmp_path):
    make(tmp_path / "Somebody+Flask", FILES)
    assert "is on the exclusion list" in why(tmp_path, "somebody/flask")
    assert "same name as pallets/flask" in why(tmp_path, "pallets/flask")
    assert why(tmp_path, "pallets/flask-login", "somebody/other") is None


def copied(text, known=BLOCK):
    return copied_lines(text.encode(), hash_windows(known.encode(), RULES), RULES).tolist()


def test_copied_block_is_found_wherever_it_stands():
    text = f"first = 1\n\n{BLOCK}\nlast = 2\n"
    marks = copied(text)
    assert [n for n, mark in enumerate(marks) if mark] == list(range(2, 8))
    assert not any(copied("first = 1\nsecond = 2\n" * 10))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("    ", "\t"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: "".join(f"        {line}\n" for line in text.splitlines()),
        lambda text: text.replace(", ", " ,  ").replace("=", " = "),
    ],
)
def test_copied_block_is_found_with_other_blanks(change):
    assert sum(copied(change(BLOCK))) >= 6


def test_short_windows_are_idiom():
    assert not any(copied("    }\n" * 4 + "x\n", known="}\n" * 8))
    lines = "".join(f"{'a' * 25}{n}\n" for n in range(4))
    assert all(copied(lines, known=lines)[:4])
    assert not any(copied(lines.replace("a" * 25, "a" * 23), known=lines.replace("a" * 25, "a" * 23)))


def test_lines_in_another_order_are_no_copy():
    lines = BLOCK.splitlines(keepends=True)
    assert not any(copied("".join([*lines[3:], *lines[:3]])))
    assert not any(copied("".join(reversed(lines))))


def test_windows_agree_with_a_plain_reading():
    lines = [line for line in (BLOCK + PYTHON + GO).split("\n") if line.strip()]
    plain = ["".join(line.split()) for line in lines]
    windows = {tuple(plain[n : n + 4]) for n in range(len(plain) - 3) if len("".join(plain[n : n + 4])) >= 100}
    hashes, _, _ = cut_windows((BLOCK + PYTHON + GO).encode(), RULES)
    assert len(set(hashes.tolist())) == len(windows)
    assert merge_windows([hashes, hashes[:3]]).tolist() == sorted(set(hashes.tolist()))


def test_windows_of_texts_too_short_for_one():
    for text in (b"", b"\n\n", b"a\nb\nc"):
        assert len(hash_windows(text, RULES)) == 0
    assert copied_lines(b"a\n", np.empty(0, np.uint64), RULES).tolist() == [False, False]


def excluded(tmp_path, names, workers=1):
    found = find_repositories(tmp_path / "repos")
    return build_exclusions(Exclusions(names), found, RULES, tmp_path / "cache", workers)


def test_pairs_with_copied_lines_are_dropped_and_counted(tmp_path):
    make(tmp_path / "repos" / "own+secret", {"inner/fence.py": f"import paint\n\n\n{BLOCK}"})
    moved = "".join(f"    {line}\n" for line in BLOCK.splitlines())
    own = "".join(f"{HENS.replace('hens', f'hens{n}')}\n\n" for n in range(20))  # most of the file is not copied
    folder = make(tmp_path / "mine" / "toy+farm", {"LICENSE": MIT, "hen_house.py": f"{own}class Farm:\n{moved}"})
    free = mined(folder)
    kept = mined(folder, excluded=excluded(tmp_path, ("own/secret",)))
    assert any({"repaint", "fenc"} <= query for query, _, _ in pairs(free.shard, "name"))
    assert not any("fenc" in query or "fenc" in code for query, code, _ in pairs(kept.shard, "name"))
    assert any("hen" in query for query, _, _ in pairs(kept.shard, "doc"))
    assert kept.report.dropped["copied"] >= 2
    assert "copied" not in free.report.dropped


def test_file_that_is_largely_copied_is_dropped_whole(tmp_path):
    make(tmp_path / "repos" / "own+secret", {"fence.py": BLOCK})
    folder = make(tmp_path / "mine" / "toy+farm", {"LICENSE": MIT, "hen_house.py": HENS, "README.md": DOCS})
    make(folder, {"farm_work.py": f"{BLOCK}\n\n{HENS}"}, "Leave the fence as it is")
    changed = HENS.replace("corn", "grain")
    make(folder, {"farm_work.py": f"{BLOCK}\n\n{changed}"}, "Give grain to every hungry hen")
    free, kept = mined(folder), mined(folder, excluded=excluded(tmp_path, ("own/secret",)))
    assert any("grain" in code for _, code, _ in pairs(free.shard, "doc"))
    assert any("grain" in query for query, _, _ in pairs(free.shard, "commit"))
    assert not any("grain" in query or "grain" in code for kind in KINDS for query, code, _ in pairs(kept.shard, kind))
    assert any("hen" in query for query, _, _ in pairs(kept.shard, "doc"))
    assert kept.report.dropped["copied file"] == 2  # the file, and the change whose subject says something
    assert kept.report.files == free.report.files - 1


def test_changes_of_copied_files_over_the_cap_are_dropped_too(tmp_path):
    make(tmp_path / "repos" / "own+secret", {"fence.py": BLOCK})
    folder = make(tmp_path / "mine" / "toy+farm", {"LICENSE": MIT})
    for name, text in (("fence_work", BLOCK), ("seeds", RUST), ("mooring", GO)):
        make(folder, {f"{name}.py": text + HENS}, f"Begin the {name} with hungry hens")
        make(folder, {f"{name}.py": text + HENS.replace("corn", "grain")}, f"Give {name} grain to every hen")
    config = MiningConfig(files=FileRules(code=1))
    found = mined(folder, config, excluded(tmp_path, ("own/secret",)))
    asked = [query for query, _, _ in pairs(found.shard, "commit")]
    assert any("moor" in query for query in asked)
    assert not any("fenc" in query for query in asked)


@pytest.mark.parametrize(("own", "copied"), [(8, True), (60, False)])
def test_copied_share_of_a_file_decides(own, copied):
    rest = "".join(f"{'b' * 30} {n}\n" for n in range(own))
    compared = compare((BLOCK + rest).encode(), hash_windows(BLOCK.encode(), RULES), RULES)
    assert int(compared.known.sum()) == 3
    assert compared.is_copy(RULES, range(0)) is copied
    assert not compared.is_copy(RULES, range(6))
    assert not compared.is_copy(replace(RULES, fewest=4), range(0))


def test_copies_in_the_history_are_dropped_too(tmp_path):
    make(tmp_path / "repos" / "own+secret", {"fence.py": BLOCK})
    folder = make(tmp_path / "mine" / "toy+farm", {"LICENSE": MIT})
    make(folder, {"farm_work.py": BLOCK}, "Paint the fence when it does not rain")
    make(folder, {"farm_work.py": "# nothing\n"}, "Leave the fence as it has always been")
    assert not pairs(mined(folder, excluded=excluded(tmp_path, ("own/secret",))).shard, "commit")
    assert pairs(mined(folder).shard, "commit")


def test_licence_header_that_all_files_share_is_no_copy(tmp_path):
    header = "".join(f"# Copyright line {n} of a long header on the licence of this\n" for n in range(6))
    make(tmp_path / "repos" / "own+secret", {"thing.py": header + "x = 1\n"})
    folder = make(tmp_path / "mine" / "toy+farm", {"LICENSE": MIT, "kitchen/hot_kettle.py": f"{header}\n{PYTHON}"})
    found = mined(folder, excluded=excluded(tmp_path, ("own/secret",)))
    assert found.report.pairs["path"] == 1
    assert not {"copied", "copied file"} & found.report.dropped.keys()


def test_barrier_says_whose_windows_are_known(tmp_path):
    make(
        tmp_path / "repos" / "own+secret",
        {"fence.py": BLOCK, "bell": "".join(f"ring {'x' * 30} {n}\n" for n in range(5))},
    )
    make(tmp_path / "repos" / "fork+other", {"a.py": PYTHON})
    make(tmp_path / "repos" / "toy+free", {"b.py": GO})
    found = excluded(tmp_path, ("not/here", "own/secret", "real/other"), workers=2)
    assert list(found.checked) == ["fork/other", "own/secret"]
    assert all(len(commit) == 40 for commit in found.checked.values())
    assert found.unchecked == ("not/here", "real/other")
    assert (np.diff(found.windows.astype(object)) > 0).all()
    for text in (BLOCK, PYTHON):
        assert np.isin(hash_windows(text.encode(), RULES), found.windows).all()
    assert not np.isin(hash_windows(GO.encode(), RULES), found.windows).any()


def test_windows_are_kept_until_the_code_moves(tmp_path):
    make(tmp_path / "repos" / "own+secret", {"fence.py": BLOCK})
    first = excluded(tmp_path, ("own/secret",))
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()}
    assert excluded(tmp_path, ("own/secret",)).digest == first.digest
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()} == times
    make(tmp_path / "repos" / "own+secret", {"more.py": PYTHON})
    moved = excluded(tmp_path, ("own/secret",))
    assert moved.digest != first.digest
    assert len(moved.windows) > len(first.windows)


def test_damaged_windows_are_made_anew(tmp_path):
    make(tmp_path / "repos" / "own+secret", {"fence.py": BLOCK})
    first = excluded(tmp_path, ("own/secret",))
    for path in (tmp_path / "cache").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert excluded(tmp_path, ("own/secret",)).digest == first.digest


def test_excluded_repositories_are_not_mined_and_their_old_shards_go(tmp_path):
    make(tmp_path / "repos" / "toy+house", FILES)
    make(tmp_path / "repos" / "toy+farm", {"LICENSE": MIT, "farm_work.py": BLOCK})
    out = tmp_path / "out"
    list(prepare(tmp_path / "repos", MiningConfig(), out, Exclusions(()), 1).mine())
    assert (out / "shards" / "toy+house.assay").exists()
    reports = {
        e.report.repository: e.report
        for e in prepare(tmp_path / "repos", MiningConfig(), out, Exclusions(("x/House",)), 1).mine()
    }
    assert reports["toy/house"].reason.startswith("excluded:")
    assert sum(reports["toy/farm"].pairs.values()) > 0
    assert sorted(path.name for path in (out / "shards").iterdir()) == ["toy+farm.assay", "toy+farm.json"]


def test_corpora_elsewhere_are_excluded_with_their_code(tmp_path):
    make(tmp_path / "corpora" / "own+secret", {"fence.py": BLOCK, "mooring.go": GO})
    make(tmp_path / "repos" / "fork+secret", FILES)
    make(tmp_path / "repos" / "toy+harbour", {"LICENSE": MIT, "dock/mooring_lines.go": GO})
    out, corpora = tmp_path / "out", tmp_path / "corpora"
    ready = prepare(tmp_path / "repos", MiningConfig(), out, Exclusions(()), 1, corpora=corpora)
    reports = {event.report.repository: event.report for event in ready.mine()}
    assert reports["fork/secret"].reason.startswith("excluded:")
    assert sum(reports["toy/harbour"].pairs.values()) == 0
    assert reports["toy/harbour"].dropped["copied file"] == 1
