"""Further phrasings of a query, made by rules."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Final

from assay.gold.codebase import CodeIndex, DefinitionRef, name_key
from assay.gold.leaks import replacements
from assay.gold.mining.intake import Intake, IntakeResult, normalize
from assay.gold.mining.questions import ADDED, base_form, question, word_set
from assay.gold.review.items import Item, Origin
from assay.syntax.identifiers import parts, split, stem, words
from assay.syntax.prose import content, sentences
from assay.types import GoldSet, Query


@dataclass(frozen=True, slots=True)
class PhrasingRules:
    """How phrasings are made."""

    keywords: int = 4  # words of a keyword query: what people type into a search box
    described: int = 14  # words of an ai_optimized query, about what models write
    answer: int = 300  # characters of an endpoint's phrasing
    shown: int = 3_000  # characters of the query and its target in the prompt


PHRASINGS: Final = PhrasingRules()
#: Phrasings in the order in which rules make them: a later one is made from an earlier one.
MADE: Final = ("human", "keyword", "ai_optimized", "wrong_terminology")
_TOKEN: Final = re.compile(r"[A-Za-z]+")
_UNDERSCORED: Final = re.compile(r"(?<!\w)_+[^\W_]\w*")
#: Words of queries about any code.
_IDLE: Final = word_set(
    "handle get set make use do check return allow add create support give may used given optional new args str int"
)
#: Words before a verb and never before a noun.
_VERB_NEXT: Final = word_set(
    "code which that to it does do can should must not and or is are be was were will never we how"
)
#: An imperative has an article or its like after the first word; a list of nouns has none.
_ORDER: Final = re.compile(r"^\w+ (?:the|an?|all|each|every|any|its|how|what|whether|if)\b", re.IGNORECASE)
#: Grammars of languages that write a parameter's name before its type.
_NAME_FIRST: Final = frozenset({"go", "python", "rust", "kotlin", "swift", "typescript", "tsx", "scala", "zig"})
_PARAMETERS: Final = re.compile(r"\(([^()]*)\)")
_IGNORED: Final = word_set("self cls this args kwargs def async pub fn func function static const mut")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrasing, and notes for its reviewers."""

    form: str
    text: str
    notes: tuple[str, ...] = ()


def mine_phrasings(intake: Intake, gold: GoldSet) -> IntakeResult:
    """Propose the phrasings that queries lack."""
    made = [(query, phrase) for query in gold.queries for phrase in rule_phrases(intake.code, query)]
    return IntakeResult(tuple(phrasing_item(intake, query, phrase, Origin("rules")) for query, phrase in made))


def phrasing_item(intake: Intake, query: Query, phrase: Phrase, origin: Origin) -> Item:
    """Return the item of one phrasing."""
    return intake.item("phrasing", replace(query, forms={phrase.form: phrase.text}), origin, phrase.notes)


def rule_phrases(code: CodeIndex, query: Query) -> Iterator[Phrase]:
    """Yield the phrasings that rules make of a query, without duplicates."""
    known = {normalize(text) for text in query.forms.values()}
    makers = {"human": human, "keyword": keyword, "ai_optimized": described, "wrong_terminology": wrong_term}
    for form in MADE:
        phrase = makers[form](code, query) if form not in query.forms else None
        if phrase is not None and normalize(phrase.text) not in known:
            known.add(normalize(phrase.text))
            yield phrase


def human(_code: CodeIndex, query: Query) -> Phrase | None:
    """Make a question of a keyword query or an imperative."""
    text = query.forms.get("keyword") or query.forms.get("ai_optimized")
    if not text:
        return None
    plain = " ".join(text.split())
    asked = question(plain) if _ORDER.match(plain) else plain
    return Phrase("human", asked if asked != plain else f"where is the code for {plain}?")


def keyword(code: CodeIndex, query: Query) -> Phrase | None:
    """Choose the words that fewest files have, the rarest first and words that no file has last."""
    text = query.forms.get("human") or query.forms.get("ai_optimized")
    candidates = _telling_words(text) if text else []
    if len(candidates) < 2:
        return None

    def rarity(word: str) -> int:
        return min(code.file_counts[stem(part)] for part in split(word) or (word,)) or len(code.files) + 1

    places = {word: place for place, word in enumerate(candidates)}
    chosen = sorted(candidates, key=lambda word: (rarity(word), places[word]))
    return Phrase("keyword", " ".join(chosen[: PHRASINGS.keywords]))


def _telling_words(text: str) -> list[str]:
    every = [word for word in _content(text) if word not in ADDED]
    telling = [word for word in every if base_form(word) not in _IDLE]
    return telling if len(telling) > 1 else every


def _content(text: str) -> tuple[str, ...]:
    whole = {name.lstrip("_"): name for name in _UNDERSCORED.findall(text.lower())}
    return tuple(whole.get(word, word) for word in content(text))


def described(code: CodeIndex, query: Query) -> Phrase | None:
    """Describe the target as a model would: its class, file, parameters and comment.

    Its own name is left out: with it the phrasing would only measure the look-up of names.
    """
    refs = [ref for target in query.targets[:1] for ref in code.definitions_of(target)[:1]]
    text = query.forms.get("human") or query.forms.get("keyword")
    if not refs or not text:
        return None
    name = refs[0].name
    own = {stem(word) for word in split(name)}
    asked = _telling_words(text)
    added = [
        word
        for word in _words_about(code, refs[0])
        if not own & {stem(part) for part in split(word)}
        and name_key(word) != name_key(name)  # in a sentence the parts of a name are not separated
    ]
    fresh = {word.lower(): word for word in reversed([*asked, *added]) if base_form(word.lower()) not in _IDLE}
    kept = [fresh[key] for key in dict.fromkeys(word.lower() for word in (*asked, *added)) if key in fresh]
    kept = kept[: PHRASINGS.described]
    return Phrase("ai_optimized", " ".join(kept)) if len(kept) > len(asked) else None


def _words_about(code: CodeIndex, ref: DefinitionRef) -> Iterator[str]:
    yield from ref.names[:-1][-1:]
    yield PurePosixPath(ref.path).stem
    parameters = _PARAMETERS.search(ref.definition.signature)
    for one in parameters[1].split(",") if parameters else ():
        names = [name for name in re.findall(r"[A-Za-z_]\w*", re.split(r"[:=]", one)[0]) if name not in _IGNORED]
        yield from names[:1] if code.files[ref.path].language in _NAME_FIRST else names[-1:]
    sentence = next(sentences(ref.definition.doc), "")
    yield from sorted(_content(sentence), key=lambda word: code.file_counts[stem(word)])


def wrong_term(code: CodeIndex, query: Query) -> Phrase | None:
    """Replace one word of the question with a term it is confused with; the word occurs once and is no name.

    Neither word may be part of the target's path or name: two things would change at once, and a lower score could
    also come from the failed look-up of a name.
    """
    text = query.forms.get("human")
    if not text:
        return None
    names = {stem(word) for target in query.targets for word in words(f"{target.span.path} {target.symbol or ''}")}
    tokens = list(_TOKEN.finditer(text))
    lower = [match[0].lower() for match in tokens]
    for place, word in enumerate(lower):
        slip = slips().get(word)
        if slip is None or lower.count(word) != 1 or _inside_name(text, tokens[place]) or not _fits(slip, lower, place):
            continue
        if stem(word) not in names and stem(slip.wrong) not in names and slip.wrong not in lower:
            wrong = _replace_word(text, tokens, place, slip.wrong)
            notes = (f"'{word}' became '{slip.wrong}': {slip.why}", *_namesake_note(code, slip.wrong))
            if replacements(text, wrong) == 1:  # not `byte byte string`, where a word was only added
                return Phrase("wrong_terminology", wrong, notes)
    return None


def _fits(slip: ConfusableTerm, words_: Sequence[str], place: int) -> bool:
    before_verb = place > 0 and words_[place - 1] in _VERB_NEXT
    if slip.kind == "noun":
        return not before_verb
    return slip.kind == "word" or before_verb or slip.word.endswith(("ed", "ing"))


def _replace_word(text: str, tokens: Sequence[re.Match[str]], place: int, wrong: str) -> str:
    match = tokens[place]
    new = wrong.capitalize() if match[0][0].isupper() else wrong
    before = tokens[place - 1] if place else None
    if before is not None and before[0].lower() in ("a", "an") and before.end() + 1 == match.start():
        article = "an" if wrong[0] in "aeiou" else "a"
        article = article.capitalize() if before[0][0].isupper() else article
        return f"{text[: before.start()]}{article} {new}{text[match.end() :]}"
    return f"{text[: match.start()]}{new}{text[match.end() :]}"


def _inside_name(text: str, match: re.Match[str]) -> bool:
    before, after = text[: match.start()][-1:], text[match.end() :][:1]
    return bool(
        (before and before in "_-./:`\"'#@\\") or before.isdigit() or (after and after in "_-/:(`\\") or after.isdigit()
    )


def _namesake_note(code: CodeIndex, word: str) -> tuple[str, ...]:
    own = stem(word)
    found = sum(own in {stem(part) for part in parts(ref.name)} for ref in code.definitions if code.can_be_target(ref))
    return (f"{found} definitions have '{word}' in their names: check that none of them is relevant",) if found else ()


@dataclass(frozen=True, slots=True)
class ConfusableTerm:
    """A word, the one it is confused with, and why."""

    word: str
    wrong: str
    kind: str  # noun, verb or word
    why: str


@cache
def slips() -> Mapping[str, ConfusableTerm]:
    """Load the table of confusable terms: every inflection, with the first term it is confused with."""
    text = resources.files("assay.data").joinpath("mining", "confusable.toml").read_text(encoding="utf-8")
    found: dict[str, ConfusableTerm] = {}
    for pair in tomllib.loads(text)["pair"]:
        for one, other in _inflections(pair):
            found.setdefault(one, ConfusableTerm(one, other, pair["kind"], pair["why"]))
            found.setdefault(other, ConfusableTerm(other, one, pair["kind"], pair["why"]))
    return found


def _inflections(pair: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    one, other = str(pair["one"]), str(pair["other"])
    listed = pair.get("forms")
    if isinstance(listed, list):
        yield from ((str(left), str(right)) for left, right in listed)
        return
    yield one, other
    if pair["kind"] != "word":
        yield _plural(one), _plural(other)
    if pair["kind"] == "verb":
        for ending in ("ed", "ing"):
            yield one.removesuffix("e") + ending, other.removesuffix("e") + ending


def _plural(word: str) -> str:
    if word.endswith(("s", "sh", "ch", "x", "z")):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeiou" else f"{word}s"
