import pytest

from assay.training.config import MiningConfig
from assay.training.mining import mine_repository
from assay.training.repositories import (
    DIRECTORY_LICENSE,
    PERMISSIVE,
    LearningScope,
    classify_license,
    decide_license,
    find_directory_licenses,
    find_root_licenses,
    has_restrictive_header,
    is_license_path,
    judge_directories,
    open_repository,
)
from assay.training.selection import NO_EXCLUSIONS
from assay.training.shards import KINDS
from tests.training.mining.samples import FILES, GO, PYTHON, make, mined, pairs
from tests.training.toy import MIT

AS_IS = 'THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND.\n'
BSD2 = """\
Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions are met:
1. Redistributions of source code must retain the above copyright notice.
2. Redistributions in binary form must reproduce the above copyright notice.

THIS SOFTWARE IS PROVIDED BY THE AUTHORS ``AS IS'' AND ANY WARRANTIES ARE DISCLAIMED.
"""
BSD3 = BSD2.replace(
    "\n\nTHIS",
    "\n3. Neither the name of Somebody nor the names of others may be used to endorse or\npromote products.\n\nTHIS",
)
ISC = """\
Permission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies.

"""
TEXTS = {
    "MIT": MIT,
    "MIT-0": MIT.replace("The above copyright notice and this permission notice shall be included in all copies", "So"),
    "BSD-2-Clause": BSD2,
    "BSD-3-Clause": BSD3,
    "BSD-4-Clause": BSD3.replace("3. Neither", "3. All advertising materials mentioning features\n4. Neither"),
    "ISC": ISC + AS_IS,
    "0BSD": ISC.partition(", provided")[0] + ".\n" + AS_IS,
    "Apache-2.0": "Apache License\nVersion 2.0\n2. Grant of Copyright License.\n3. Grant of Patent License.\n",
    "Zlib": "This software is provided 'as-is'.\n2. Altered source versions must be plainly marked as such.\n",
    "Unlicense": "This is free and unencumbered software released into the public domain.\n",
    "BSL-1.0": "Boost Software License - Version 1.0\nPermission is hereby granted, free of charge, to all\n",
    "CC0-1.0": "Creative Commons\nCC0 1.0 Universal\nAffirmer hereby waives all\n",
    "GPL-2.0": "GNU GENERAL PUBLIC LICENSE\nVersion 2, June 1991\n",
    "GPL-3.0": "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007\n",
    "LGPL-3.0": "GNU LESSER GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007\n",
    "AGPL-3.0": "GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3, 19 November 2007\n",
    "MPL-2.0": "Mozilla Public License Version 2.0\n",
    "EPL": "Eclipse Public License - v 2.0\n",
}


@pytest.mark.parametrize("spdx", TEXTS)
def test_licence_is_told_by_its_text(spdx):
    assert classify_license(TEXTS[spdx]) == (spdx,)
    shouted = "\n".join(f" *  {line}" for line in TEXTS[spdx].upper().split("\n"))
    assert classify_license(shouted) == (spdx,)


@pytest.mark.parametrize("spdx", TEXTS)
def test_only_permissive_licences_let_us_learn(spdx):
    decided = decide_license({"LICENSE": TEXTS[spdx]})
    assert decided.permissive == (spdx if spdx in PERMISSIVE else None)
    assert spdx in decided.problem


@pytest.mark.parametrize(
    ("files", "permissive"),
    [
        ({}, None),
        ({"LICENSE": "Do as I say.\n"}, None),
        ({"LICENSE": "All rights reserved.\n"}, None),
        ({"LICENSE-MIT": MIT, "LICENSE-APACHE": TEXTS["Apache-2.0"]}, "Apache-2.0 OR MIT"),
        ({"LICENSE": MIT, "COPYING": TEXTS["GPL-2.0"]}, None),
        (
            {"LICENSE": "Licensed under the MIT license or the Apache License, Version 2.0, at your option."},
            "Apache-2.0 OR MIT",
        ),
        (
            {"LICENSE": "You may choose the MIT license or the GPL.", "LICENSE.MIT": MIT, "COPYING": TEXTS["GPL-2.0"]},
            "MIT",
        ),
        ({"LICENSE": f"Apache-2.0 OR GPL-2.0-or-later\n{TEXTS['Apache-2.0']}{TEXTS['GPL-2.0']}"}, "Apache-2.0"),
        (
            {"LICENSE": "either version 2 of the GNU General Public License, or (at your option) any later version"},
            None,
        ),
        ({"LICENSE": f"{MIT}\nParts:\n{BSD3}"}, "BSD-3-Clause AND MIT"),
        ({"LICENSE": f"{MIT}\nParts:\n{TEXTS['LGPL-3.0']}"}, None),
    ],
)
def test_several_licences_are_a_choice_or_a_burden(files, permissive):
    assert decide_license(files).permissive == permissive


def test_licence_files_are_those_nearest_to_the_root():
    assert find_root_licenses(["COPYING", "a/LICENSE", "LICENSES/MIT.txt"]) == ["COPYING"]
    assert find_root_licenses(["LICENSES/MIT.txt", "a/LICENSE"]) == ["LICENSES/MIT.txt"]
    assert find_root_licenses(["a/LICENSE", "b/license.md", "a/c/LICENSE"]) == ["a/LICENSE", "b/license.md"]
    assert find_root_licenses(["a/b/LICENSE", "LICENSE-DEPENDENCIES.md", "LICENSE-binary"]) == []


@pytest.mark.parametrize(
    "path",
    ["LICENSE", "LICENCE.md", "license.txt", "COPYING", "COPYING.LESSER", "UNLICENSE", "MIT-LICENSE", "LICENSE-MIT"],
)
def test_licence_files_are_told_by_their_name(path):
    assert is_license_path(path)
    assert not is_license_path(f"{path}/other.py")
    assert not is_license_path("licensing.py")


@pytest.mark.parametrize("licence", [None, "GPL-2.0", "MPL-2.0"])
def test_repository_under_another_licence_is_left_out_with_the_reason(tmp_path, licence):
    files = dict(FILES)
    del files["LICENSE"]
    if licence:
        files["LICENSE"] = TEXTS[licence]
    found = mined(make(tmp_path / "r", files))
    assert found.shard is None
    assert found.report.reason.startswith("license:")
    assert (licence or "none") in found.report.reason


@pytest.mark.parametrize("spdx", ["BSD-3-Clause", "Apache-2.0", "Unlicense"])
def test_repository_under_a_permissive_licence_says_which(tmp_path, spdx):
    report = mined(make(tmp_path / "r", FILES | {"LICENSE": TEXTS[spdx]})).report
    assert report.licence == spdx
    assert report.pairs["doc"] > 0


def test_header_of_a_file_may_restrict_it():
    assert has_restrictive_header("/* SPDX-License-Identifier: GPL-2.0-only */\n")
    assert has_restrictive_header("# This program is distributed under the GNU Affero General Public License\n")
    assert not has_restrictive_header("// SPDX-License-Identifier: MIT\n")
    assert not has_restrictive_header(PYTHON)
    assert not has_restrictive_header("x = 1\n" * 2000 + "# GNU General Public License\n")


def forbids(files, path, root=MIT):
    return judge_directories(files, [root], [path]).forbids(path)


@pytest.mark.parametrize("spdx", TEXTS)
def test_licence_of_a_folder_decides_for_what_lies_below(spdx):
    files = {"src/inner/LICENSE": TEXTS[spdx]}
    assert forbids(files, "src/inner/deep/er/a.c") is (spdx not in PERMISSIVE)
    assert not forbids(files, "src/a.c")
    assert not forbids(files, "src/inner2/a.c")
    assert not forbids(files, "a.c")


def test_nearest_licence_decides():
    files = {"a/COPYING": TEXTS["GPL-3.0"], "a/b/LICENSE": TEXTS["ISC"], "a/b/c/LICENSE.txt": TEXTS["EPL"]}
    assert [forbids(files, path) for path in ("a/x.c", "a/b/x.c", "a/b/c/x.c", "a/b/c/d/x.c")] == [
        True,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("text", "barred"),
    [
        ("Do as I say.\n", True),
        ("", True),
        ("../../LICENSE", False),
        ("See the LICENSE file in the root of this repository.\n", False),
        ("Not the license of the root: ask me.\n" * 20, True),
        ("GPL, see ../LICENSE.GPL", True),
        (f"  {MIT.upper()}", False),
    ],
)
def test_unknown_text_of_a_folder_forbids_unless_it_points_to_the_root(text, barred):
    assert forbids({"a/b/LICENSE": text}, "a/b/x.c") is barred


def test_pointer_leaves_it_to_the_licence_above():
    assert forbids({"a/LICENSE": TEXTS["MPL-2.0"], "a/b/LICENSE": "../LICENSE"}, "a/b/x.c")


def test_choice_that_the_root_offers_may_be_repeated():
    texts = ["Under the MIT license or the GPL.", TEXTS["GPL-2.0"]]
    repeated = {"a/LICENSE": texts[0], "a/COPYING": texts[1]}
    assert not judge_directories(repeated, texts, []).forbids("a/x.c")
    assert judge_directories({"a/COPYING": texts[1]}, texts, []).forbids("a/x.c")


def test_licences_of_folders_are_texts_about_the_folder():
    assert find_directory_licenses(["a/LICENSE", "assets/COPYING.md", "a/LICENSE.MIT", "a/UNLICENSE"]) == [
        "a/LICENSE",
        "assets/COPYING.md",
        "a/LICENSE.MIT",
        "a/UNLICENSE",
    ]
    others = [
        "LICENSE",
        "LICENSES/MIT.txt",
        "a/license.go",
        "a/license.png",
        "a/LICENSE-3rdparty.txt",
        "a/license.json",
    ]
    assert find_directory_licenses(others) == []


def test_folder_under_another_licence_is_read_in_no_way(tmp_path):
    mooring = {"dock/LICENSE": TEXTS["GPL-3.0"], "dock/mooring_lines.go": GO, "dock/README.md": FILES["README.md"]}
    folder = make(tmp_path / "r", {"LICENSE": MIT, "old/mooring_lines.go": GO}, "Tie every vessel to a berth")
    (folder / "old" / "mooring_lines.go").unlink()
    make(folder, mooring | {"kitchen/hot_kettle.py": PYTHON}, "Boil water beside the harbour")
    changed = {"dock/mooring_lines.go": GO.replace("Tie", "Hitch"), "kitchen/hot_kettle.py": PYTHON + "\nx = 1\n"}
    make(folder, changed, "Hitch vessels while water boils")
    found = mined(folder)
    every = [(query, code) for kind in KINDS for query, code, _ in pairs(found.shard, kind)]
    assert not any("berth" in query or "berth" in code for query, code in every)
    assert any("hitch" in query for query, _, _ in pairs(found.shard, "commit"))  # by what it did in the kitchen
    assert not pairs(found.shard, "heading")
    assert found.report.dropped[DIRECTORY_LICENSE] == 2
    assert found.report.pairs["doc"] > 0


def test_own_code_is_read_whatever_the_licence_of_its_folder(tmp_path):
    folder = make(tmp_path / "r", {"LICENSE": MIT, "dock/LICENSE": TEXTS["GPL-3.0"], "dock/mooring_lines.go": GO})
    found = mine_repository(open_repository(folder), MiningConfig(), NO_EXCLUSIONS, LearningScope(own=True))
    assert pairs(found.shard, "doc")
