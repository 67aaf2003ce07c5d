from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from assay.syntax.identifiers import STOP_WORDS, split

#: Comment markers at the edges of lines in all supported languages, and Elixir's doc attributes.
_EDGES: Final = re.compile(
    r"^[ \t]*(?:@(?:module|type)?doc\s+(?:~[sS])?(?:\"\"\"|'''|\")?|///?!?|/\*+!?|\*+/|\*|#+!?"
    r"|--+\[*(?:[ \t]*[|^])?|;+|%+|\{-\|?)[ \t]?"
    r"|(?:\*+/|-\}|\]\]|\"\"\"|''')[ \t]*$",
    re.MULTILINE,
)
#: Lines that end the first paragraph: a tag, an arguments section, a list, an example, a horizontal rule.
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
#: A full stop that does not end a sentence.
_ABBREVIATION: Final = re.compile(r"(?:\b(?:e\.g|i\.e|n\.b|etc|vs|cf|resp|approx|incl|viz|al|no)|\.\.)$", re.IGNORECASE)
_STOP: Final = re.compile(r"[.!?。](?=\s|$)|[:;](?=\s*$)")
#: Comments that do not describe behavior.
_IDLE: Final = re.compile(
    r"copyright|licen[cs]e|spdx|all rights reserved|\b(?:todo|fixme|xxx|hack|noqa|nolint|nosec|pragma|deprecated)\b"
    r"|eslint|pylint|prettier|istanbul|type: ?ignore|clang-format|@ts-|swiftlint|inheritdoc|auto-?generated|do not edit"
    r"|^\s*(?:see|same as|like|alias (?:for|of)|ditto|internal|private|go:|region\b|mark:|default implementation)",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_][\w]*")
_PROSE: Final = re.compile(r"[^\W\d_]|[\s,.'’\"()/-]")
#: Minimum share of letters, blanks and plain punctuation in a sentence; commented-out code has less.
_PROSE_SHARE: Final = 0.85


def split_sentences(comment: str) -> Iterator[str]:
    """Yield the sentences of a comment's first paragraph, without comment markers and markup."""
    rest = strip_markup(_first_paragraph(_EDGES.sub("", comment)))
    while rest:
        stops = (stop.start() for stop in _STOP.finditer(rest))
        end = next((stop for stop in stops if not _ABBREVIATION.search(rest[:stop])), len(rest))
        sentence = rest[:end].strip(" \t*-–—:;")
        rest = rest[end + 1 :].lstrip()
        if sentence:
            yield sentence


def is_prose(sentence: str, most: int) -> bool:
    """Return whether a text begins with a letter, has at most `most` words, and contains few symbols or digits."""
    if not sentence or not sentence[0].isalpha() or len(sentence.split()) > most:
        return False
    return len(_PROSE.findall(sentence)) >= _PROSE_SHARE * len(sentence)


def is_idle(sentence: str) -> bool:
    """Return whether a comment is a license, linter directive, to-do or cross-reference rather than a description."""
    return _IDLE.search(sentence) is not None


def strip_leading_name(sentence: str, name: str) -> str:
    """Remove the name that begins a sentence, as in Go comments: `Foo returns …`, `The Foo (T) returns …`."""
    if name not in sentence[: len(name) + 4]:
        return sentence
    match = re.match(rf"(?:(?:The|A|An) )?{re.escape(name)}\b(?: \([^)]*\))?[\s,]*", sentence)
    return sentence[match.end() :] if match else sentence


def strip_markup(text: str) -> str:
    """Remove the markup of links, roles and code from a text, and all HTML tags and URLs."""
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return text.strip()


def mentions_name(sentence: str, name: str) -> bool:
    """Return whether a sentence contains a name, ignoring case and underscores, as one word or two."""
    own = "".join(split(name)) or name.lower()
    words = ["".join(split(word)) for word in _WORD.findall(sentence)]
    joined = {*words, *(first + second for first, second in pairwise(words))}
    return own in joined


def content_words(sentence: str) -> tuple[str, ...]:
    words = (word.lower() for word in _WORD.findall(sentence))
    return tuple(dict.fromkeys(w for w in words if len(w) > 1 and not w.isdigit() and w not in STOP_WORDS))


def _first_paragraph(text: str) -> str:
    paragraph: list[str] = []
    for line in text.split("\n"):
        blank = not line.strip(" \t\r*/#=-~_")
        if (blank and paragraph) or (not blank and _SECTION.match(line)):
            break
        paragraph += [] if blank else [line.strip()]
    return " ".join(paragraph[: _paragraph_end(paragraph)])


def _paragraph_end(lines: Sequence[str]) -> int:
    width = max(map(len, lines), default=0)
    for number, (line, following) in enumerate(pairwise(lines), 1):
        fits = len(line) + 1 + len(following.split(" ", 1)[0]) <= width
        if fits and following[0].isupper() and not line.endswith((".", "!", "?")):
            return number
    return len(lines)
