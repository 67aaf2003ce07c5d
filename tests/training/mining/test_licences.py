import pytest

from assay.training.mining.licences import PERMISSIVE, classify, decide, is_licence, licence_paths, restricts
from tests.training.mining.samples import FILES, PYTHON, make, mined
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
    assert classify(TEXTS[spdx]) == (spdx,)
    shouted = "\n".join(f" *  {line}" for line in TEXTS[spdx].upper().split("\n"))
    assert classify(shouted) == (spdx,)


@pytest.mark.parametrize("spdx", TEXTS)
def test_only_permissive_licences_let_us_learn(spdx):
    decided = decide({"LICENSE": TEXTS[spdx]})
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
    assert decide(files).permissive == permissive


def test_licence_files_are_those_nearest_to_the_root():
    assert licence_paths(["COPYING", "a/LICENSE", "LICENSES/MIT.txt"]) == ["COPYING"]
    assert licence_paths(["LICENSES/MIT.txt", "a/LICENSE"]) == ["LICENSES/MIT.txt"]
    assert licence_paths(["a/LICENSE", "b/license.md", "a/c/LICENSE"]) == ["a/LICENSE", "b/license.md"]
    assert licence_paths(["a/b/LICENSE", "LICENSE-DEPENDENCIES.md", "LICENSE-binary"]) == []


@pytest.mark.parametrize(
    "path",
    ["LICENSE", "LICENCE.md", "license.txt", "COPYING", "COPYING.LESSER", "UNLICENSE", "MIT-LICENSE", "LICENSE-MIT"],
)
def test_licence_files_are_told_by_their_name(path):
    assert is_licence(path)
    assert not is_licence(f"{path}/other.py")
    assert not is_licence("licensing.py")


@pytest.mark.parametrize("licence", [None, "GPL-2.0", "MPL-2.0"])
def test_repository_under_another_licence_is_left_out_with_the_reason(tmp_path, licence):
    files = dict(FILES)
    del files["LICENSE"]
    if licence:
        files["LICENSE"] = TEXTS[licence]
    found = mined(make(tmp_path / "r", files))
    assert found.shard is None
    assert found.report.left_out == "licence"
    assert (licence or "none") in found.report.reason


@pytest.mark.parametrize("spdx", ["BSD-3-Clause", "Apache-2.0", "Unlicense"])
def test_repository_under_a_permissive_licence_says_which(tmp_path, spdx):
    report = mined(make(tmp_path / "r", FILES | {"LICENSE": TEXTS[spdx]})).report
    assert report.licence == spdx
    assert report.pairs["doc"] > 0


def test_header_of_a_file_may_restrict_it():
    assert restricts("/* SPDX-License-Identifier: GPL-2.0-only */\n")
    assert restricts("# This program is distributed under the GNU Affero General Public License\n")
    assert not restricts("// SPDX-License-Identifier: MIT\n")
    assert not restricts(PYTHON)
    assert not restricts("x = 1\n" * 2000 + "# GNU General Public License\n")
