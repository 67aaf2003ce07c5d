"""Tell a key, which a machine drew at random, from a name, which people made of words."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import pairwise
from typing import Final

#: A long run without a blank. Names of code are long too, but they are made of words.
_RUN: Final = re.compile(r"[A-Za-z0-9+/_=~-]{16,}")
_PIECE: Final = re.compile(r"\w+")
_LETTERS: Final = re.compile(r"[A-Za-z]+")
_WORDS: Final = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_MADE_OF_WORDS: Final = 0.75  # least share of letters in words of a long name; of random base64 it is some 0.4
#: Letters that often follow each letter in the names and comments of Python's library: 220 pairs, nine tenths of all.
_FOLLOWING: Final = (
    "a:bcdgiklmnprstuvy b:aeilorsu c:acehiklortu d:adeilorsu e:acdefglmnprstvwx f:aefilortu g:aehirs h:aeio"
    " i:abcdefglmnoprstvz k:eis l:adeilostuy m:abeimopsu n:acdefginostuv o:bcdgklmnoprstuvw p:aeiloprstuy q:u"
    " r:acdegilmnorstuy s:acehilopstuy t:acehilorstuy u:abceilmnprst v:aei w:aei x:pt y:p z:e"
)
_PAIRS: Final = frozenset(f"{row[0]}{second}" for row in _FOLLOWING.split() for second in row[2:])
_SPOKEN: Final = 0.65  # least share of such pairs in a name: English has 0.9, letters drawn at random 0.33
_FEWEST: Final = 10  # pairs; of fewer the share says nothing


def has_key(text: str, known: Container[str] = frozenset()) -> bool:
    """Tell whether a text has a run that looks drawn; names that the code itself has are known."""
    return any(_is_key(run, known) for run in _RUN.findall(text))


def _is_key(run: str, known: Container[str]) -> bool:
    """Tell a key from a name: letters and digits in one, too few words, or letters that do not follow each other."""
    strange = [piece for piece in _PIECE.findall(run) if piece not in known]
    rest = "".join(strange)
    if any(map(str.isdigit, rest)) and any(map(str.isalpha, rest)):
        return True
    return _spoken(rest) < _MADE_OF_WORDS * sum(map(str.isalnum, rest)) or not _follows(rest)


def _spoken(run: str) -> int:
    """Count the letters that stand in something like words."""
    return sum(len(word) for word in _WORDS.findall(run))


def _follows(run: str) -> bool:
    """Tell whether letters follow each other as in English."""
    pairs = [one + two for letters in _LETTERS.findall(run) for one, two in pairwise(letters.lower())]
    return len(pairs) < _FEWEST or sum(pair in _PAIRS for pair in pairs) >= _SPOKEN * len(pairs)
