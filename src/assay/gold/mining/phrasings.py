"""Further phrasings of one intent, by rules or by an endpoint."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Final

from assay.gold.leaks import replacements
from assay.gold.mining.codebase import CodeIndex, DefinitionRef, joined
from assay.gold.mining.config import PHRASES
from assay.gold.mining.intake import Intake, IntakeResult, normalized
from assay.gold.mining.questions import ADDED, base_form, question
from assay.gold.review.items import Item, Origin
from assay.syntax.identifiers import parts, split, stem, words
from assay.syntax.prose import content, sentences
from assay.types import GoldSet, Query


@dataclass(frozen=True, slots=True)
class ConfusableTerm:
    """A word, the one it is taken for, and why."""

    word: str
    wrong: str
    kind: str  # noun, verb or word
    why: str


@cache
def slips() -> Mapping[str, ConfusableTerm]:
    """Read the table: every form of every word, each with the first word it is taken for."""
    text = resources.files("assay.data").joinpath("mining", "confusable.toml").read_text(encoding="utf-8")
    found: dict[str, ConfusableTerm] = {}
    for pair in tomllib.loads(text)["pair"]:
        for one, other in _forms(pair):
            found.setdefault(one, ConfusableTerm(one, other, pair["kind"], pair["why"]))
            found.setdefault(other, ConfusableTerm(other, one, pair["kind"], pair["why"]))
    return found


def _forms(pair: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    one, other = str(pair["one"]), str(pair["other"])
    listed = pair.get("forms")
    if isinstance(listed, list):
        yield from ((str(left), str(right)) for left, right in listed)
        return
    yield one, other
    if pair["kind"] != "word":
        yield _plural(one), _plural(other)
    if pair["kind"] == "verb":
        yield _past(one), _past(other)
        yield _lasting(one), _lasting(other)


def _plural(word: str) -> str:
    if word.endswith(("s", "sh", "ch", "x", "z")):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeiou" else f"{word}s"


def _past(word: str) -> str:
    return f"{word}d" if word.endswith("e") else f"{word}ed"


def _lasting(word: str) -> str:
    return f"{word[:-1]}ing" if word.endswith("e") else f"{word}ing"


#: The forms that rules make, in this order: a later one is made of an earlier one.
MADE: Final = ("human", "keyword", "ai_optimized", "wrong_terminology")
_TOKEN: Final = re.compile(r"[A-Za-z]+")
_UNDERSCORED: Final = re.compile(r"(?<!\w)_+[^\W_]\w*")
#: Verbs and words that stand in questions about any code.
_IDLE: Final = frozenset(
    [
        "handle",
        "get",
        "set",
        "make",
        "use",
        "do",
        "check",
        "return",
        "allow",
        "add",
        "create",
        "support",
        "give",
        "may",
        "used",
        "given",
        "optional",
        "new",
        "args",
        "str",
        "int",
    ]
)
#: Before a noun none of these stands; before a verb one of them does, unless its ending shows it.
_VERB_NEXT: Final = frozenset(
    [
        "code",
        "which",
        "that",
        "to",
        "it",
        "does",
        "do",
        "can",
        "should",
        "must",
        "not",
        "and",
        "or",
        "is",
        "are",
        "be",
        "was",
        "were",
        "will",
        "never",
        "we",
        "how",
    ]
)
#: Words that are an order and not a list of nouns have an article or its like behind the first.
_ORDER: Final = re.compile(r"^\w+ (?:the|an?|all|each|every|any|its|how|what|whether|if)\b", re.IGNORECASE)
#: Grammars of languages that write a parameter's name before its type.
_NAME_FIRST: Final = frozenset({"go", "python", "rust", "kotlin", "swift", "typescript", "tsx", "scala", "zig"})
_PARAMETERS: Final = re.compile(r"\(([^()]*)\)")
_IGNORED: Final = frozenset(
    {"self", "cls", "this", "args", "kwargs", "def", "async", "pub", "fn", "func", "function", "static", "const", "mut"}
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrasing, and what reviewers should know of it."""

    form: str
    text: str
    notes: tuple[str, ...] = ()


def mine_phrasings(intake: Intake, gold: GoldSet) -> IntakeResult:
    """Propose the phrasings that queries lack."""
    made = [(query, phrase) for query in gold.queries for phrase in rule_phrases(intake.ground, query)]
    return IntakeResult(tuple(phrasing_item(intake, query, phrase, Origin("rules")) for query, phrase in made))


def phrasing_item(intake: Intake, query: Query, phrase: Phrase, origin: Origin) -> Item:
    """Make the item of one phrasing."""
    return intake.item("phrasing", replace(query, forms={phrase.form: phrase.text}), origin, phrase.notes)


def rule_phrases(ground: CodeIndex, query: Query) -> Iterator[Phrase]:
    """Yield what rules make of a query; a phrasing that says the same as one there is, is none."""
    known = {normalized(text) for text in query.forms.values()}
    makers = {"human": human, "keyword": keyword, "ai_optimized": described, "wrong_terminology": wrong_term}
    for form in MADE:
        phrase = makers[form](ground, query) if form not in query.forms else None
        if phrase is not None and normalized(phrase.text) not in known:
            known.add(normalized(phrase.text))
            yield phrase


def human(_ground: CodeIndex, query: Query) -> Phrase | None:
    """Ask a question with the words of a keyword query or an order."""
    text = query.forms.get("keyword") or query.forms.get("ai_optimized")
    if not text:
        return None
    plain = " ".join(text.split())
    asked = question(plain) if _ORDER.match(plain) else plain
    return Phrase("human", asked if asked != plain else f"where is the code for {plain}?")


def keyword(ground: CodeIndex, query: Query) -> Phrase | None:
    """Take the words that say most: those that fewest files hold, the rarest first; a word that none holds is last."""
    text = query.forms.get("human") or query.forms.get("ai_optimized")
    candidates = _telling(text) if text else []
    if len(candidates) < 2:
        return None
    order = {word: (_rarity(ground, word), place) for place, word in enumerate(candidates)}
    chosen = sorted(candidates, key=lambda word: order[word])
    return Phrase("keyword", " ".join(chosen[: PHRASES.keywords]))


def _telling(text: str) -> list[str]:
    every = [word for word in _content(text) if word not in ADDED]
    told = [word for word in every if base_form(word) not in _IDLE]
    return told if len(told) > 1 else every


def _content(text: str) -> tuple[str, ...]:
    whole = {name.lstrip("_"): name for name in _UNDERSCORED.findall(text.lower())}
    return tuple(whole.get(word, word) for word in content(text))


def _rarity(ground: CodeIndex, word: str) -> int:
    counts = [ground.rarity[stem(part)] for part in split(word) or (word,)]
    return min(counts) or len(ground.files) + 1


def described(ground: CodeIndex, query: Query) -> Phrase | None:
    """Describe the answer as a model would ask for it: what holds it, what it takes, what its comment says.

    Its own name is left out: a form that gives it away would measure nothing but the look-up of names.
    """
    spots = [spot for target in query.targets[:1] for spot in ground.spots_of(target)[:1]]
    text = query.forms.get("human") or query.forms.get("keyword")
    if not spots or not text:
        return None
    own = {stem(word) for word in split(spots[0].name)}
    asked = _telling(text)
    added = [word for word in _about(ground, spots[0]) if not own & {stem(part) for part in split(word)}]
    added = [word for word in added if joined(word) != joined(spots[0].name)]  # in a sentence its parts are not told
    fresh = {word.lower(): word for word in reversed([*asked, *added]) if base_form(word.lower()) not in _IDLE}
    kept = [fresh[key] for key in dict.fromkeys(word.lower() for word in (*asked, *added)) if key in fresh]
    kept = kept[: PHRASES.described]
    return Phrase("ai_optimized", " ".join(kept)) if len(kept) > len(asked) else None


def _about(ground: CodeIndex, spot: DefinitionRef) -> Iterator[str]:
    yield from spot.names[:-1][-1:]
    yield PurePosixPath(spot.path).stem
    parameters = _PARAMETERS.search(spot.definition.signature)
    for one in parameters[1].split(",") if parameters else ():
        names = [name for name in re.findall(r"[A-Za-z_]\w*", re.split(r"[:=]", one)[0]) if name not in _IGNORED]
        yield from names[:1] if ground.files[spot.path].language in _NAME_FIRST else names[-1:]
    sentence = next(sentences(spot.definition.doc), "")
    yield from sorted(_content(sentence), key=lambda word: ground.rarity[stem(word)])


def wrong_term(ground: CodeIndex, query: Query) -> Phrase | None:
    """Put one wrong term into the question: a word that occurs once, has a term it is taken for, and is no name.

    Neither word may be part of the answer's path or name: without the name, or with another one, two things would
    change at once, and a drop could not be told from a lost look-up.
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
            wrong = _replaced(text, tokens, place, slip.wrong)
            notes = (f"'{word}' became '{slip.wrong}': {slip.why}", *_others(ground, slip.wrong))
            if replacements(text, wrong) == 1:  # not `byte byte string`, where a word only came
                return Phrase("wrong_terminology", wrong, notes)
    return None


def _fits(slip: ConfusableTerm, words_: Sequence[str], place: int) -> bool:
    after_verb_sign = place > 0 and words_[place - 1] in _VERB_NEXT
    if slip.kind == "noun":
        return not after_verb_sign
    return slip.kind == "word" or after_verb_sign or slip.word.endswith(("ed", "ing"))


def _replaced(text: str, tokens: Sequence[re.Match[str]], place: int, wrong: str) -> str:
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


def _others(ground: CodeIndex, word: str) -> tuple[str, ...]:
    own = stem(word)
    found = sum(own in {stem(part) for part in parts(spot.name)} for spot in ground.spots if ground.answers(spot))
    return (f"{found} definitions have '{word}' in their names: make sure that none of them answers",) if found else ()
