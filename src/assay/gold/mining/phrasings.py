from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from assay.gold.code_index import CodeIndex, name_key
from assay.gold.mining.intake import Intake, IntakeResult, normalize
from assay.gold.mining.questions import ADDED, base_form, make_question, third_person, word_set
from assay.gold.query_properties import count_replacements
from assay.gold.review.items import ItemOrigin, ReviewItem
from assay.syntax.identifiers import parts, split, stem, words
from assay.syntax.prose import content_words, split_sentences
from assay.types import GoldSet, Query


class PhrasingRules:
    keywords: int = 4  # words of a keyword query: what people type into a search box
    described: int = 14  # words of an ai_optimized query; models write about this many
    answer: int = 300  # characters of an endpoint's phrasing
    shown: int = 3_000  # characters of the query and its target in the prompt


#: Phrasings that rules and models can add to a query, in the order in which they are proposed.
MADE: Final = ("human", "keyword", "ai_optimized", "wrong_terminology")
_TOKEN: Final = re.compile(r"[A-Za-z]+")
#: A word that is not part of a name, path or quote.
_FREE: Final = re.compile(r"""(?<![-_./:`"'#@\\\d])[A-Za-z]++(?![-_/:(`\\\d])""")
_UNDERSCORED: Final = re.compile(r"(?<!\w)_+[^\W_]\w*")
#: Words that fit any code.
_IDLE: Final = word_set(
    "handle get set make use do check return allow add create support give may used given optional new args str int"
)
#: Words that precede verbs, never nouns.
_VERB_NEXT: Final = word_set(
    "code which that to it does do can should must not and or is are be was were will never we how"
)
#: An imperative: an article or a similar word follows the first word, unlike in a list of nouns.
_ORDER: Final = re.compile(r"^\w+ (?:the|an?|all|each|every|any|its|how|what|whether|if)\b", re.IGNORECASE)
#: Grammars of languages that write a parameter's name before its type.
_NAME_FIRST: Final = frozenset({"go", "python", "rust", "kotlin", "swift", "typescript", "tsx", "scala", "zig"})
_PARAMETERS: Final = re.compile(r"\(([^()]*)\)")
_IGNORED: Final = word_set("self cls this args kwargs def async pub fn func function static const mut")


@dataclass(frozen=True, slots=True)
class Phrase:
    form: str
    text: str
    notes: tuple[str, ...] = ()  # for reviewers


def mine_phrasings(intake: Intake, gold: GoldSet) -> IntakeResult:
    made = [(query, phrase) for query in gold.queries for phrase in rule_phrases(intake.code, query)]
    return IntakeResult(tuple(phrasing_item(intake, query, phrase, ItemOrigin("rules")) for query, phrase in made))


def phrasing_item(intake: Intake, query: Query, phrase: Phrase, origin: ItemOrigin) -> ReviewItem:
    return intake.item("phrasing", replace(query, forms={phrase.form: phrase.text}), origin, phrase.notes)


def rule_phrases(code: CodeIndex, query: Query) -> Iterator[Phrase]:
    """Yield the missing phrasings that rules can derive from a query, without duplicates."""
    known = {normalize(text) for text in query.forms.values()}
    makers = {"human": _human, "keyword": _keyword, "ai_optimized": _describe_target, "wrong_terminology": wrong_term}
    for form in MADE:
        phrase = makers[form](code, query) if form not in query.forms else None
        if phrase is not None and normalize(phrase.text) not in known:
            known.add(normalize(phrase.text))
            yield phrase


def _human(_code: CodeIndex, query: Query) -> Phrase | None:
    text = query.forms.get("keyword") or query.forms.get("ai_optimized")
    if not text:
        return None
    plain = " ".join(text.split())
    query_text = make_question(plain) if _ORDER.match(plain) else plain
    return Phrase("human", query_text if query_text != plain else f"where is the code for {plain}?")


def _keyword(code: CodeIndex, query: Query) -> Phrase | None:
    """Return the rarest words of the query: those in the fewest files first, those in no file last."""
    text = query.forms.get("human") or query.forms.get("ai_optimized")
    candidates = _distinctive_words(text) if text else []
    if len(candidates) < 2:
        return None

    def rarity(word: str) -> int:
        return min(code.file_counts[stem(part)] for part in split(word) or (word,)) or len(code.files) + 1

    return Phrase("keyword", " ".join(sorted(candidates, key=rarity)[: PhrasingRules.keywords]))


def _distinctive_words(text: str) -> list[str]:
    every = [word for word in _content(text) if word not in ADDED]
    distinctive = [word for word in every if base_form(word) not in _IDLE]
    return distinctive if len(distinctive) > 1 else every


def _content(text: str) -> tuple[str, ...]:
    whole = {name.lstrip("_"): name for name in _UNDERSCORED.findall(text.lower())}
    return tuple(whole.get(word, word) for word in content_words(text))


def _describe_target(code: CodeIndex, query: Query) -> Phrase | None:
    """Extend the query with words of the first target's class, file, parameters and comment.

    Words of the target's name are not added: a phrasing with the name would only measure search by name.
    """
    refs = [ref for target in query.targets[:1] for ref in code.definitions_of(target)[:1]]
    text = query.forms.get("human") or query.forms.get("keyword")
    if not refs or not text:
        return None
    ref = refs[0]
    about = [*ref.names[:-1][-1:], PurePosixPath(ref.path).stem]
    parameters = _PARAMETERS.search(ref.definition.signature)
    for parameter in parameters[1].split(",") if parameters else ():
        names = [name for name in re.findall(r"[A-Za-z_]\w*", re.split(r"[:=]", parameter)[0]) if name not in _IGNORED]
        about += names[:1] if code.files[ref.path].language in _NAME_FIRST else names[-1:]
    sentence = next(split_sentences(ref.definition.doc), "")
    about += sorted(_content(sentence), key=lambda word: code.file_counts[stem(word)])
    own = {stem(word) for word in split(ref.name)}
    query_words = _distinctive_words(text)
    # In a sentence the parts of a name are not separated, so the whole is compared too.
    added = [w for w in about if own.isdisjoint(map(stem, split(w))) and name_key(w) != name_key(ref.name)]
    fresh: dict[str, str] = {}
    for word in (*query_words, *added):
        if base_form(word.lower()) not in _IDLE:
            fresh.setdefault(word.lower(), word)
    chosen = list(fresh.values())[: PhrasingRules.described]
    return Phrase("ai_optimized", " ".join(chosen)) if len(chosen) > len(query_words) else None


def wrong_term(code: CodeIndex, query: Query) -> Phrase | None:
    """Replace one word of the query with a term often confused with it; return None if no word fits.

    The word occurs once and is not part of a name. Neither the word nor the term is in the path or name of a target:
    otherwise a lower score could also come from a failed search by name.
    """
    text = query.forms.get("human")
    if not text:
        return None
    names = {stem(word) for target in query.targets for word in words(f"{target.span.path} {target.symbol or ''}")}
    tokens = list(_TOKEN.finditer(text))
    lower = [match[0].lower() for match in tokens]
    for position, word in enumerate(lower):
        term = confusable_terms().get(word)
        if term is None or lower.count(word) != 1 or not _FREE.match(text, tokens[position].start()):
            continue
        before_verb = position > 0 and lower[position - 1] in _VERB_NEXT
        fits = not before_verb if term.kind == "noun" else before_verb or word.endswith(("ed", "ing"))
        if not fits and term.kind != "word":
            continue
        if stem(word) not in names and stem(term.wrong) not in names and term.wrong not in lower:
            wrong = _replace_word(text, tokens[position], term.wrong)
            if count_replacements(text, wrong) != 1:  # `byte byte string`, where a word was only added
                continue
            own, refs = stem(term.wrong), filter(code.can_be_target, code.definitions)
            count = sum(own in {stem(part) for part in parts(ref.name)} for ref in refs)
            check = f"{count} definitions have '{term.wrong}' in their names: check that none of them is relevant"
            notes = (f"'{word}' became '{term.wrong}': {term.why}", *([check] if count else []))
            return Phrase("wrong_terminology", wrong, notes)
    return None


def _replace_word(text: str, match: re.Match[str], wrong: str) -> str:
    new = wrong.capitalize() if match[0][0].isupper() else wrong
    before = text[: match.start()]
    article = re.search(r"(?<![A-Za-z])an?[^A-Za-z]\Z", before, re.IGNORECASE)
    if article is not None:
        fitting = "an" if wrong[0] in "aeiou" else "a"
        before = before[: article.start()] + (fitting.capitalize() if article[0][0].isupper() else fitting) + " "
    return f"{before}{new}{text[match.end() :]}"


class ConfusableTerm(NamedTuple):
    wrong: str
    kind: str  # noun, verb or word
    why: str


@cache
def confusable_terms() -> Mapping[str, ConfusableTerm]:
    text = resources.files("assay.data").joinpath("mining", "confusable.toml").read_text(encoding="utf-8")
    terms: dict[str, ConfusableTerm] = {}
    for pair in tomllib.loads(text)["pair"]:
        first, other, kind = pair["one"], pair["other"], pair["kind"]
        inflections = pair.get("forms")
        if inflections is None:
            inflections = [(first, other)]
            if kind != "word":
                inflections.append((third_person(first), third_person(other)))  # plurals of nouns have the same endings
            if kind == "verb":
                inflections += [(first.removesuffix("e") + e, other.removesuffix("e") + e) for e in ("ed", "ing")]
        for left, right in inflections:
            terms.setdefault(left, ConfusableTerm(right, kind, pair["why"]))
            terms.setdefault(right, ConfusableTerm(left, kind, pair["why"]))
    return terms
