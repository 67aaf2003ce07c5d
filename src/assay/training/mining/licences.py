"""Under which licence is a repository? Decided from the text of its licence files, never from a badge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

#: Licences that ask for no more than a notice.
PERMISSIVE: Final = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "ISC",
        "MIT",
        "MIT-0",
        "Unlicense",
        "Zlib",
    }
)
_FILE: Final = re.compile(
    r"(?:[\w.]+[-_])?(?:un)?licen[cs]e(?:[-_.][\w.+-]*)?|copying(?:[-_.][\w.+-]*)?|(?:.*/)?licenses/[\w.+-]+\.txt",
    re.IGNORECASE,
)
#: Licences of what a project uses or shows, not of its code.
_OF_OTHERS: Final = re.compile(r"depend|3rd|third|binary|vendor|logo|font|asset|docs?\b|images?\b", re.IGNORECASE)
_NEAR: Final = 2  # how far from the root a licence may lie: in one folder
_MIT: Final = "permission is hereby granted free of charge to any person obtaining a copy"
_MIT_NOTICE: Final = "permission notice shall be included in all copies"
_BSD: Final = "with or without modification are permitted provided that the following conditions are met"
#: SPDX -> phrases that all stand in its text, as `plain_text` writes it.
_TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "AGPL-3.0": ("gnu affero general public license version 3",),
    "LGPL-3.0": ("gnu lesser general public license version 3",),
    "LGPL-2.1": ("gnu lesser general public license version 2 1",),
    "GPL-3.0": ("gnu general public license version 3",),
    "GPL-2.0": ("gnu general public license version 2",),
    "MPL-2.0": ("mozilla public license version 2 0",),
    "EPL": ("eclipse public license",),
    "Artistic": ("artistic license",),
    "SSPL": ("server side public license",),
    "BUSL-1.1": ("business source license",),
    "Elastic-2.0": ("elastic license 2 0",),
    "Commons-Clause": ("commons clause",),
    "Apache-2.0": ("apache license version 2 0", "grant of copyright license", "grant of patent license"),
    "BSL-1.0": ("boost software license version 1 0", "permission is hereby granted free of charge"),
    "CC0-1.0": ("cc0 1 0 universal", "waive"),
    "Unlicense": ("this is free and unencumbered software released into the public domain",),
    "BSD-4-Clause": (_BSD, "all advertising materials mentioning features"),
    "BSD-3-Clause": (_BSD, "may be used to endorse or promote products", "neither the name"),
    "BSD-3-Clause ": (_BSD, "may not be used to endorse or promote products"),
    "BSD-2-Clause": (_BSD, "redistributions in binary form must reproduce", "this software is provided"),
    "Zlib": ("this software is provided as is", "altered source versions must be plainly marked"),
    "MIT": (_MIT, _MIT_NOTICE, "the software is provided as is"),
    "MIT-0": (_MIT, "without limitation the rights to use copy modify", "the software is provided as is"),
    "ISC": (
        "permission to use copy modify and or distribute this software for any purpose with or without fee",
        "provided that the above copyright notice and this permission notice appear in all copies",
    ),
    "ISC ": (
        "permission to use copy modify and distribute this software for any purpose with or without fee",
        "provided that the above copyright notice and this permission notice appear in all copies",
    ),
    "0BSD": (
        "permission to use copy modify and or distribute this software for any purpose with or without fee is hereby "
        "granted",
        "the software is provided as is",
    ),
}
#: How a text that points at licences which lie elsewhere names them.
_NAMED: Final[Mapping[str, str]] = {
    "MIT": r"\bmit(?: license)?\b",
    "Apache-2.0": r"\bapache(?: license)?(?: version)? 2 0\b",
    "Unlicense": r"\bunlicense\b",
    "BSD-3-Clause": r"\bbsd 3 clause\b",
    "BSD-2-Clause": r"\bbsd 2 clause\b",
    "ISC": r"\bisc license\b",
    "Zlib": r"\bzlib license\b",
    "BSL-1.0": r"\bboost software license\b",
    "GPL": r"\b(?:a?gpl|lgpl|gnu \w* ?general public license)\b",
    "MPL-2.0": r"\b(?:mpl|mozilla public license)\b",
}
#: Says at the top that one may choose: a dual licence, or `MIT or Apache 2.0` and its kin.
_NAME: Final = "|".join(f"(?:{pattern})" for pattern in _NAMED.values())
_CHOICE: Final = re.compile(rf"\bdual(?:ly)? licensed?\b|(?:{_NAME})(?: \w+){{0,12}} or(?: \w+){{0,12}} (?:{_NAME})")
_TOP: Final = 2_500  # characters; a pointer or a note on the choice is shorter, a licence's own text mostly longer


@dataclass(frozen=True, slots=True)
class Licence:
    """What a repository's licence files say: the licences in them, and which of them lets us learn from it."""

    found: tuple[str, ...]
    permissive: str | None

    @property
    def problem(self) -> str:
        """Say why a repository is left out."""
        return f"licence: {' and '.join(self.found) or 'none that is recognised'}"


def is_licence(path: str) -> bool:
    """Tell whether a file may hold a licence, by its name."""
    name = path if path.lower().startswith("licenses/") else path.rpartition("/")[2]
    return _FILE.fullmatch(name) is not None


def of_others(path: str) -> bool:
    """Tell whether a licence is of what a project uses or shows, by the name."""
    return _OF_OTHERS.search(path) is not None


def licence_paths(paths: Iterable[str]) -> list[str]:
    """Choose the files that decide: those at the root, else those in `LICENSES`, else one a folder, as monorepos do."""
    found = [path for path in paths if is_licence(path) and not of_others(path)]
    near = min(map(_distance, found), default=0)
    return [path for path in found if _distance(path) == near <= _NEAR]


def _distance(path: str) -> int:
    """Say how far from the root a licence lies."""
    return 1 if path.lower().startswith("licenses/") else 2 * path.count("/")


def decide(files: Mapping[str, str]) -> Licence:
    """Decide from the licence files of a repository, by path.

    Files with permissive texts only are fine, whether one may choose (LICENSE-MIT beside LICENSE-APACHE) or all of them
    apply. One that is not permissive spoils all the others, unless a file says that one may choose.
    """
    found = {path: classify(text) for path, text in files.items()}
    names = tuple(sorted({spdx for each in found.values() for spdx in each}))
    permissive = [spdx for spdx in names if spdx in PERMISSIVE]
    choice = any(map(_offers_choice, files.values()))
    spoilt = not permissive or (len(permissive) < len(names) and not choice)
    apart = choice or all(len(each) < 2 for each in found.values())
    return Licence(names, None if spoilt else (" OR " if apart else " AND ").join(permissive))


def classify(text: str) -> tuple[str, ...]:
    """Name the licences whose text or, at the top, whose names a file holds."""
    plain = plain_text(text)
    known = [spdx.strip() for spdx, phrases in _TEXTS.items() if all(phrase in plain for phrase in phrases)]
    if not known:
        top = plain_text(text[:_TOP])
        known = [spdx for spdx, pattern in _NAMED.items() if re.search(pattern, top)]
    return tuple(sorted(set(_without_lesser(known))))


def _without_lesser(known: Sequence[str]) -> list[str]:
    """Leave out texts that are contained in a longer one that was found too."""
    hidden: set[str] = set()
    for longer, shorter in (
        ("BSD-4-Clause", "BSD-3-Clause"),
        ("BSD-4-Clause", "BSD-2-Clause"),
        ("BSD-3-Clause", "BSD-2-Clause"),
        ("MIT", "MIT-0"),
        ("ISC", "0BSD"),
    ):
        hidden |= {shorter} if longer in known else set()
    return [spdx for spdx in known if spdx not in hidden]


def _offers_choice(text: str) -> bool:
    """Tell whether a file says at its top that one may choose between licences."""
    return _CHOICE.search(plain_text(text[:_TOP])) is not None


def plain_text(text: str) -> str:
    """Write a text as lower-case words with single blanks, comment signs and punctuation gone."""
    return " ".join(re.findall(r"[a-z0-9]+", text.lower().replace("licence", "license")))


#: A file that carries a licence of its own which asks for more.
_HEADER: Final = re.compile(
    r"gnu (?:lesser |library |affero )?general public licen[cs]e|mozilla public licen[cs]e|eclipse public licen[cs]e"
    r"|spdx-license-identifier:\s*(?:[al]?gpl|mpl|epl|cddl|sspl|busl|eupl)|\bgpl ?v?[23]|server side public licen[cs]e"
    r"|business source licen[cs]e|all rights reserved\.? *proprietary",
    re.IGNORECASE,
)
#: What only licence texts say.
LICENCE_TEXT: Final = re.compile(
    r"copyright (?:\(c\)|©|\d{4})|licensed under|all rights reserved|spdx-license|permission is hereby granted"
    r"|without warrant(?:y|ies)|provided [\"“']*as is|redistribution and use",
    re.IGNORECASE,
)
#: What a comment at the top of a file says of its licence.
LICENCE_WORD: Final = re.compile(r"copyright|licen[cs]e|\(c\)|©|all rights reserved|spdx", re.IGNORECASE)
_HEADER_BYTES: Final = 3_000  # a header that names its licence does so on its first page


def restricts(text: str) -> bool:
    """Tell whether the head of a file names a licence that asks for more than a notice."""
    return _HEADER.search(text, 0, _HEADER_BYTES) is not None
