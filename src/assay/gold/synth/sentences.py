"""The first sentence of a documentation comment, as somebody might have asked for the code under it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from assay.gold.synth.config import SENTENCES
from assay.syntax.identifiers import STOP_WORDS, split

#: What comments are made of at the edges of their lines, in every language here; Elixir's attributes too.
_EDGES: Final = re.compile(
    r"^[ \t]*(?:@(?:module|type)?doc\s+(?:~[sS])?(?:\"\"\"|'''|\")?|///?!?|/\*+!?|\*+/|\*|#+!?"
    r"|--+\[*(?:[ \t]*[|^])?|;+|%+|\{-\|?)[ \t]?"
    r"|(?:\*+/|-\}|\]\]|\"\"\"|''')[ \t]*$",
    re.MULTILINE,
)
#: Where a first paragraph ends: a tag, a section of arguments, a list, an example, a rule.
_SECTION: Final = re.compile(
    r"^\s*(?:[@\\]\w+|:\w+.*:|\.\. |>>>|```|~~~|[-*+•] |\d+[.)] |[=~^_*#-]{3,}|<pre|\|"
    r"|(?:Args?|Arguments|Parameters?|Params|Returns?|Raises|Throws|Examples?|Notes?|Usage|Since|See also|Options"
    r"|Attributes|Yields|Warnings?)\s*:?\s*$)",
    re.IGNORECASE,
)
_MARKUP: Final = (
    (re.compile(r"\{@\w+\s+([^}]*)\}"), r"\1"),  # {@link Foo}
    (re.compile(r"<[^<>\n]{1,200}>"), " "),
    (re.compile(r":[\w:]+:`~?([^`<]*)(?:<[^`]*)?`"), r"\1"),  # :class:`Foo`
    (re.compile(r"\[\[([^\[\]]+)\]\]"), r"\1"),  # [[Foo]]
    (re.compile(r"!?(?<![\w#])\[([^\[\]]+)\](?:\([^()]*\)|\[[^\[\]]*\])?"), r"\1"),  # [text](url), [`Foo`]
    (re.compile(r"https?://\S+"), " "),
    (re.compile(r"[`|]+|\*\*|__(?=\s)"), ""),
    (re.compile(r"\s+"), " "),
)
#: A full stop that is not one.
_ABBREVIATION: Final = re.compile(r"(?:\b(?:e\.g|i\.e|n\.b|etc|vs|cf|resp|approx|incl|viz|al|no)|\.\.)$", re.IGNORECASE)
_STOP: Final = re.compile(r"[.!?。](?=\s|$)|[:;](?=\s*$)")
#: Comments that say nothing about what the code does.
_IDLE: Final = re.compile(
    r"copyright|licen[cs]e|spdx|all rights reserved|\b(?:todo|fixme|xxx|hack|noqa|nolint|nosec|pragma|deprecated)\b"
    r"|eslint|pylint|prettier|istanbul|type: ?ignore|clang-format|@ts-|swiftlint|inheritdoc|auto-?generated|do not edit"
    r"|^\s*(?:see|same as|like|alias (?:for|of)|ditto|internal|private|go:|region\b|mark:|default implementation)",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_][\w]*")
_PROSE: Final = re.compile(r"[^\W\d_]|[\s,.'’\"()/-]")


def first_sentence(comment: str) -> str | None:
    """Give the first sentence of a comment without its markers and markup, if it is one."""
    plain = without_markup(_first_paragraph(_EDGES.sub("", comment)))
    sentence = _cut(plain).strip(" \t*-–—:;")
    return sentence if is_prose(sentence) and not _IDLE.search(sentence) else None


def is_prose(sentence: str) -> bool:
    """Tell a sentence from code, a label or a whole paragraph."""
    if not sentence or not sentence[0].isalpha() or len(sentence.split()) > SENTENCES.most:
        return False
    return len(_PROSE.findall(sentence)) >= SENTENCES.prose * len(sentence)


def without_leading_name(sentence: str, name: str) -> str:
    """Take away the name that a sentence begins with, as Go's comments do: `Foo returns …`, `Foo (T) returns …`."""
    begun = re.match(rf"(?:(?:The|A|An) )?{re.escape(name)}\b(?: \([^)]*\))?[\s,]*", sentence)
    return sentence[begun.end() :] if begun else sentence


def without_markup(text: str) -> str:
    """Take the markup out of a text: links, tags, roles, code quotes."""
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return text.strip()


def names_it(sentence: str, name: str) -> bool:
    """Tell whether a sentence holds a name, however its words are joined."""
    own = "".join(split(name)) or name.lower()
    found = ["".join(split(word)) for word in _WORD.findall(sentence)]
    joined = {*found, *(one + other for one, other in pairwise(found))}
    return own in joined


def content(sentence: str) -> tuple[str, ...]:
    """List the distinct words of a sentence that say something, in order, lower-case."""
    words = (word.lower() for word in _WORD.findall(sentence))
    return tuple(dict.fromkeys(w for w in words if len(w) > 1 and not w.isdigit() and w not in STOP_WORDS))


def _first_paragraph(text: str) -> str:
    """Read up to the first blank line or section, leading blank lines and rules left out."""
    kept: list[str] = []
    for line in text.split("\n"):
        blank = not line.strip(" \t\r*/#=-~_")
        if (blank and kept) or (not blank and _SECTION.match(line)):
            break
        kept += [] if blank else [line.strip()]
    return " ".join(kept[: _broken_off(kept)])


def _broken_off(lines: Sequence[str]) -> int:
    """Count the lines up to one that ends early and is followed by a capital: a sentence without a full stop."""
    width = max(map(len, lines), default=0)
    for number, (line, following) in enumerate(pairwise(lines), 1):
        fits = len(line) + 1 + len(following.split(" ", 1)[0]) <= width
        if fits and following[0].isupper():
            return number
    return len(lines)


def _cut(text: str) -> str:
    """Cut a text after its first sentence."""
    for stop in _STOP.finditer(text):
        if not _ABBREVIATION.search(text[: stop.start()]):
            return text[: stop.start()]
    return text
