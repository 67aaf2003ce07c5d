"""Make a question of what people write about code: a title, a sentence of a comment, words typed into a search box."""

from __future__ import annotations

import re
from importlib import resources
from typing import Final

from assay.syntax.prose import content


def _verbs() -> frozenset[str]:
    text = resources.files("assay.data").joinpath("mining", "verbs.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.split("\n") if not line.startswith("#") for word in line.split())


VERBS: Final = _verbs()
_IRREGULAR: Final = {"do": "does", "have": "has", "be": "is", "undo": "undoes"}
#: Orders about the state of the code, not about what it does; what follows is a problem that somebody might report.
_MENDING: Final = re.compile(
    r"^(?:(?:bug)?fix(?:e[sd]|ing)?|resolve[sd]?|correct(?:s|ed)?|address(?:es|ed)?|solve[sd]?)"
    r"(?:\s+(?:(?:a|an|the|some|possible|potential|another|rare|minor|small)\s+)*"
    r"(?:(?:bugs?|issues?|problems?|errors?)\s+(?:with|in|of|on|for|where|when|that|which|if|caused by)\s+)?|\s*:\s*)"
    r"(?:(?:the|an?)\s+)?(?=\w)",
    re.IGNORECASE,
)
_MAKING: Final = re.compile(
    r"^(?:add(?:s|ed|ing)?|implement(?:s|ed|ing)?|introduce[sd]?)\s+"
    r"(?:(?:a|an|the|new|some|initial|basic|proper|full|better|experimental|optional|simple)\s+)*"
    r"(?:(?:support|handling|option|ability)\s+(?:for|of|to)\s+)?",
    re.IGNORECASE,
)
#: What a thing does, said of it: `Parses the header`. An -s that no noun of these verbs has.
_THIRD: Final = re.compile(r"^([a-z]+?)(ies|es|s)$")
#: A problem that was mended is told by when it was met.
_WHEN: Final = re.compile(
    r"\b(?:when|if|while|with|without|after|before|on|in|for|not|from|by|during)\b", re.IGNORECASE
)
#: What is added to something is told by both.
_GIVEN_TO: Final = re.compile(r"\w\s(?:to|into|through|by default|before|after|when|if|from)\b", re.IGNORECASE)
#: Titles that end in what was done are about that.
_DONE: Final = re.compile(
    r"(?:\b(?:fix(?:es)?|tweaks?|changes?|updates?|improvements?|support|bugs?|issues?|problems?)|…|\.\.)$",
    re.IGNORECASE,
)
_SHOULD: Final = re.compile(r"\b(?:should|must|do(?:es)? not|don't|doesn't|never|always|no longer)\b", re.IGNORECASE)
#: Verbs that a change is called by which is about the code and not about what it does.
_ABOUT_CODE: Final = frozenset(
    {"change", "use", "define", "declare", "expose", "make", "put", "override", "import", "try", "reduce", "replace"}
)
#: After these the word before was no verb: `Align should reset …`, `Cache is never …`, `Cast error when …`
_ABOUT_A_THING: Final = re.compile(
    r"^(?:should|must|is|are|was|were|can|cannot|can't|will|won't|does|doesn't|not"
    r"|errors?|bugs?|issues?|as|types?|options?|support|key|name)\b"
)
#: A second order behind the first, told from a noun by what follows it.
_SECOND: Final = re.compile(
    r"\b(and|or|then) ([a-z]+)(?= (?:the|an?|its?|them|all|any|each|every|to|into|from|with|on|only|this|that|their)\b)"
)
_A_THING: Final = re.compile(r"^(?:an?|the)\s+(.{3,})$", re.IGNORECASE)
_ASKS: Final = re.compile(r"^(?:where|how|what|which|why|who|when|does|is|are|can|do)\b", re.IGNORECASE)
_GERUND: Final = re.compile(r"^[A-Za-z]{2,}ing\b(?!\s*(?:for|of|in|to|and|or)?\s*$)")


#: Words that the patterns below add; they are no words of the question.
ADDED: Final = frozenset({"code", "implementation", "work"})
#: What points to something outside the sentence: nobody who reads it alone knows what is meant.
_POINTS: Final = re.compile(
    r"\b(?:this|these|those|above|below|following|previous|here|our|we|us|such|former|latter)\b|^(?:it|they)\b",
    re.IGNORECASE,
)


def weight(text: str) -> int:
    """Count the words of a question that say something."""
    return len(set(content(text)) - ADDED)


def stands_alone(text: str) -> bool:
    """Tell whether a text can be understood without what stood around it."""
    return _POINTS.search(text) is None


def question(text: str) -> str:
    """Make a question of a title or a sentence; what fits no pattern stays as it is, without its last stop."""
    plain = text.strip().rstrip(".:;!,").strip()
    if not plain or _ASKS.match(plain):
        return plain
    first, _, rest = plain.partition(" ")
    verb = first.lower()
    if _ABOUT_A_THING.match(rest):
        return plain
    if verb in VERBS and rest:
        return f"which code {third_person(verb)} {_SECOND.sub(_conjugated, rest)}?"
    if (base := base_form(verb)) in VERBS and base != verb and rest:
        return f"which code {third_person(base)} {rest}?"
    thing = _A_THING.match(plain)
    return f"where is the {thing[1]}?" if thing else plain


def _conjugated(match: re.Match[str]) -> str:
    return f"{match[1]} {third_person(match[2])}" if match[2] in VERBS else match[0]


def topic_question(heading: str) -> str:
    """Make a question of a heading."""
    return f"how does {lowered(heading)} work?" if _GERUND.match(heading) else question(heading)


def change_question(subject: str) -> str:
    """Make a question of what a change did: features become what they are, repairs the problem as it was met."""
    made, mended = _MAKING.match(subject), _MENDING.match(subject)
    if made and _GIVEN_TO.search(subject[made.end() :]):
        return f"which code adds {subject[made.end() :]}?"
    if made and len(content(subject[made.end() :])) > 1:
        return f"where is the implementation of {subject[made.end() :]}?"
    if mended and len(content(subject[mended.end() :])) > 1:
        return subject[mended.end() :]
    return question(subject)


def tells_change(subject: str) -> bool:
    """Tell whether a subject says what the code does now, and not only that something was done to it."""
    first = subject.split(" ", 1)[0].lower()
    if _DONE.search(subject):
        return False
    made, mended = _MAKING.match(subject), _MENDING.match(subject)
    if mended:
        rest = subject[mended.end() :]
        return _WHEN.search(rest) is not None and re.match(r"(?:and|or|for|in|to)\b", rest) is None
    behaves = {first, base_form(first)} & VERBS - _ABOUT_CODE and question(subject) != subject
    return bool(made or behaves) or _SHOULD.search(subject) is not None


def lowered(text: str) -> str:
    """Begin a text with a small letter, unless its first word is a name or an acronym."""
    first = text.split(" ", 1)[0]
    plain = first[:1].isupper() and first[1:].islower() and first.isalpha()
    return text[:1].lower() + text[1:] if plain or len(first) == 1 else text


def third_person(verb: str) -> str:
    """Say of something that it does what a verb says."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def base_form(word: str) -> str:
    """Give the verb of which a word may be the third person: parses, matches, applies."""
    found = _THIRD.match(word)
    if found is None:
        return word
    candidates = (word[:-1], word[:-2], f"{word[:-3]}y" if word.endswith("ies") else "")
    return next((one for one in candidates if one in VERBS), word)
