"""Reword sentences of comments as questions that do not repeat the comment."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Final

from assay.gold.mining.questions import VERBS, base_form, lower_first
from assay.syntax.prose import content_words


class RewordingRules:
    words: int = 14  # maximum words of a statement; a longer statement is cut at a clause or dropped
    fewest: int = 3  # minimum content words after the verb


#: Start a clause that the question can do without.
_CLAUSE: Final = re.compile(
    r"\s*(?:[,;(–—*]|(?<!:):(?!:)|\s-\s|\b(?:and (?:returns?|gives?|yields?)|if not|which|so that"
    r"|in order to|such as|e\.g|i\.e|unless|because|since|as well as)\b).*$",
    re.IGNORECASE,
)
_TRUE_IF: Final = re.compile(r"^returns?\s+(?:\W*true\W*\s+)?(?:if|whether|when)\s+", re.IGNORECASE)
_CHECK_IF: Final = re.compile(
    r"^(?:checks?|tests?|tells?|determines?|reports?|indicates?|verif(?:y|ies)|decides?)\s+(?:if|whether|that)\s+",
    re.IGNORECASE,
)
_RETURNS: Final = re.compile(r"^(?:returns?|gets?|gives?|retrieves?|fetch(?:es)?|obtains?)\s+", re.IGNORECASE)
#: A thing that does something: `A transport that sends …`, `Helper to send …`.
_THING: Final = re.compile(
    r"^(?:an?|the|helper|utility|function|decorator|context manager|method|class|wrapper)\s+(?:[\w-]+\s+){0,3}?"
    r"(?:that|which|used to|to)\s+(?=[a-z])",
    re.IGNORECASE,
)
#: An article or a preposition that lost its noun, and unfinished texts.
_BROKEN: Final = re.compile(
    r"\b(?:the|an?|its) (?:the|an?|to|of|for|in|with|from|that|which|on|by|and|or|as|at|if)\b"
    r"|\b(?:of|for|with|from|by|and|or) (?:of|for|with|from|by|and|or|if|when)\b"
    r"|\b(?:it|them|itself)\b|\b(?:and|or) [a-z]+s (?:the|an?|all|any)\b"
    r"|\b(?:the|an?|to|of|for|in|with|from|by|and|or|as|at|on|its)$",
)
_WORD: Final = re.compile(r"[A-Za-z][\w'-]*")


@cache
def _tables() -> tuple[dict[str, str], dict[str, str]]:
    text = resources.files("assay.data").joinpath("mining", "rewordings.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return tables["verbs"], tables["words"]


def reword(sentence: str) -> str | None:
    """Return a question that asks for the described code in other words, or None if no rule fits the sentence."""
    plain = _CLAUSE.sub("", " ".join(sentence.split())).strip(" .")
    words = plain.split()
    if not plain or len(words) > RewordingRules.words or re.search(r"[][<>{}=']|::|\w_\w|\b[B-Zb-z]\b", plain):
        return None
    statement = lower_first(plain)
    if _TRUE_IF.match(statement):
        return _question("where do we check whether", _TRUE_IF.sub("", statement))
    if _CHECK_IF.match(statement):
        return _question("where do we decide whether", _CHECK_IF.sub("", statement))
    if _RETURNS.match(statement):
        rest = _RETURNS.sub("", statement)
        return _question("where do we determine", rest) if re.match(r"(?:the|all)\s", rest) else None
    return _ask_action(statement) or _ask_action(_THING.sub("", statement, count=1))


def _ask_action(statement: str) -> str | None:
    first, _, rest = statement.partition(" ")
    verb = base_form(first.lower())
    if verb not in VERBS or not rest or verb not in _tables()[0]:
        return None
    new, *prepositions = _tables()[0][verb].split("; ")
    for pair in prepositions:
        old, instead = pair.split(" > ")
        if re.search(rf"\s{old}\s", rest):
            rest = re.sub(rf"\s{old}\s", f" {instead} ", rest, count=1)
            break
    else:
        if prepositions:
            return None
    return _question(f"where do we {new}", rest)


def _base_verb(word: str) -> str:
    return base_form(word) if base_form(word) in VERBS else word


def _question(start: str, rest: str) -> str | None:
    def replace(match: re.Match[str]) -> str:
        word = match[0]
        return _tables()[1].get(word.lower(), word) if word.islower() else word

    rest = re.sub(r"(?<!the )\bgiven (?=(?:an?|the|two|some)\b)", "from ", rest)
    reworded = " ".join(_WORD.sub(replace, rest).split())
    reworded = re.sub(r"\b(and|or) ([a-z]+)\b", lambda m: f"{m[1]} {_base_verb(m[2])}", reworded)
    if _BROKEN.search(reworded):
        return None
    reworded = re.sub(r"\b(an?) (?=(\w))", lambda m: f"{'an' if m[2].lower() in 'aeio' else 'a'} ", reworded)
    return f"{start} {reworded}?" if len(set(content_words(reworded))) >= RewordingRules.fewest else None
