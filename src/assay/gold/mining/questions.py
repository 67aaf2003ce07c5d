"""Turn commit subjects, comment sentences and headings into questions."""

from __future__ import annotations

import re
from importlib import resources
from typing import Final

from assay.syntax.prose import content_words


class QueryTextRules:
    fewest: int = 3  # minimum content words; a text with fewer is a label
    most: int = 30  # maximum words; a longer text is a paragraph
    longest: int = 240  # maximum characters, for texts without spaces
    shortest_word: int = 3  # letters of a one-word keyword query
    slug: int = 5  # words of an id: enough to recognize a query
    digits: int = 6  # hash digits appended to an id that is taken: 16 million texts for the same five words


_VERBS_FILE: Final = resources.files("assay.data").joinpath("mining", "verbs.txt")
VERBS: Final = frozenset(
    word
    for line in _VERBS_FILE.read_text(encoding="utf-8").split("\n")
    if not line.startswith("#")
    for word in line.split()
)
#: Words that the question templates add.
ADDED: Final = frozenset({"code", "implementation", "work"})
_IRREGULAR: Final = {"do": "does", "have": "has", "be": "is", "undo": "undoes"}
#: Verbs of fixes; a problem report follows.
_FIX: Final = re.compile(
    r"^(?:(?:bug)?fix(?:e[sd]|ing)?|resolve[sd]?|correct(?:s|ed)?|address(?:es|ed)?|solve[sd]?)"
    r"(?:\s+(?:for\s+)?(?:(?:a|an|the|some|possible|potential|another|rare|minor|small)\s+)*"
    r"(?:(?:bugs?|issues?|problems?|errors?)\s+(?:with|in|of|on|for|where|when|that|which|if|caused by)\s+)?|\s*:\s*)"
    r"(?:(?:the|an?)\s+)?(?=\w)",
    re.IGNORECASE,
)
_ADDITION: Final = re.compile(
    r"^(?:add(?:s|ed|ing)?|implement(?:s|ed|ing)?|introduce[sd]?)\s+"
    r"(?:(?:a|an|the|new|some|initial|basic|proper|full|better|experimental|optional|simple)\s+)*"
    r"(?:(?:support|handling|option|ability)\s+(?:for|of|to)\s+)?",
    re.IGNORECASE,
)
#: The ending of the third person: `Parses the header`.
_THIRD: Final = re.compile(r"^[a-z]+?(?:ies|es|s)$")
#: Circumstances of a problem.
_WHEN: Final = re.compile(r"\b(?:when|if|while|with|without|after|before|twice|during)\b", re.IGNORECASE)
#: An addition to something else.
_ADDED_TO: Final = re.compile(r"\S\s(?:to|into|through|by default|before|after|when|if|from)\b", re.IGNORECASE)
#: Endings of titles that name only the kind of change.
_DONE: Final = re.compile(
    r"(?:\b(?:fix(?:es)?|tweaks?|changes?|updates?|improvements?|support|bugs?|issues?|problems?)|…|\.\.)$",
    re.IGNORECASE,
)
_SUPPORT: Final = re.compile(r"\bsupport\b", re.IGNORECASE)
#: Notes after the change: `(again)`, `, see the issue`, `- part 2`.
_TAIL: Final = re.compile(
    r"\s*(?:\([^()]*\)?|\s[-–—]\s.*"
    r"|[,;:] (?:see|as|for|to|again|part|merges|closes|fixes|refs)\b.*)$",
    re.IGNORECASE,
)
_AVOID: Final = re.compile(
    r"^(?:do(?:es)? not|don't|doesn't|dont|never|stop|avoid|no longer) (?!ing)([a-z]+(?<!ing))s? (.+)$", re.IGNORECASE
)
_SHOULD_DO: Final = re.compile(r"^(.+?) (?:should|must)(?: always)? (?!not\b|be\b|have been\b)(.+)$", re.IGNORECASE)
#: Words about the change or the source text, not about behavior.
_ABOUT_CHANGE: Final = re.compile(
    r"\b(?:code|change entry|unreachable|functionality|explanation|godoc|getters?|setters?|structs?|would"
    r"|pr|commit|hack|todo|pragma|ineffectual|add back|back for|for now|kwargs?|params?|closure|clarif\w+"
    r"|mention\w*|notes?|jsdoc|rtype|classifiers?|tox|setuptools|properly|actual(?:ly)?|nicer|better|more|less"
    r"|clearer|faster|informative|credit to|reported by|as was|instead of|compat|concerns|patch"
    r"|variables?|constants?|behaviou?r|logic|internals?|helpers?|wording|names? of|style"
    r"|caveats?|closer|hierarchy|existing|redundant|legacy|expectations|workflow|grammatical|v\d+)\b",
    re.IGNORECASE,
)
#: Unfinished texts, and texts about a definition as such.
_OPEN_END: Final = re.compile(
    r"\b(?:a|an|and|as|at|by|for|from|in|of|on|or|the|to|with|methods?|functions?|class(?:es)?|interfaces?|attributes?"
    r"|propert(?:y|ies)|wrappers?)$|[@{}]|:\)|\. ",
    re.IGNORECASE,
)
#: `method to get the policy`, after `add`.
_MEANS: Final = re.compile(
    r"^(?:public |private |internal |utility |convenience )?(?:method|function|func|helper|way|check|hook|code)s?"
    r" (?:to|that|which|for) ([a-z]+) (.+)$",
    re.IGNORECASE,
)
#: Two changes in one subject.
_TWO_CHANGES: Final = re.compile(
    r"[;&+]|, (?:and )?(?:fix|add|remove|also|use|verify|update|then|handle)\b"
    r"|\band (?:fix|add|remove|also|update|revert)",
    re.IGNORECASE,
)
_NOT_WORKING: Final = re.compile(r"^(.+?) not work(?:ing)? ((?:with|when|for|in|on|if|after)\b.+)$", re.IGNORECASE)
_NEGATED: Final = re.compile(
    r"\b(?:not|no|n't|never|doesn't|don't|isn't|can't|cannot|wouldn't|won't|to)\b", re.IGNORECASE
)
#: Nouns for problems, which the fixed code prevents.
_PROBLEM: Final = re.compile(
    r"(?:an? )?(?:\w+ )?(?:panic|crash|error|exception|failure|leak|race|deadlock|hang|loss|loop|recursion|overflow"
    r"|corruption|regression|double\b|infinite|incorrect|wrong|unexpected|spurious|duplicate|broken|invalid|improper"
    r"|\w+Error\b|traceback|segfault|inconsistenc\w+|flicker\w*|truncat\w+|suppression)",
    re.IGNORECASE,
)
#: Verbs that begin noun phrases in problem reports: `format of dates when …`.
_NOUNS: Final = frozenset(
    {"format", "display", "help", "cache", "log", "output", "match", "order", "request", "response", "stream", "import",
     "index", "link", "list", "map", "mark", "query", "range", "record", "redirect", "result", "return", "route", "set",
     "time", "trace", "type", "style", "test", "print", "label", "hash", "group", "filter", "file", "export", "default"}
)  # fmt: skip
#: Verbs that are no nouns: `Add configure …`.
_CLEAR_VERBS: Final = frozenset({"allow", "configure", "detect", "disable", "enable", "ensure", "prevent", "validate"})
_SHOULD: Final = re.compile(r"\b(?:should|must|do(?:es)? not|don't|doesn't|never|always|no longer)\b", re.IGNORECASE)
#: Verbs of changes to the code that do not describe its behavior.
_ABOUT_CODE: Final = frozenset(
    {
        "change",
        "use",
        "define",
        "declare",
        "expose",
        "make",
        "put",
        "override",
        "import",
        "try",
        "reduce",
        "replace",
        "modify",
        "style",
        "test",
        "swap",
        "export",
        "unify",
        "convert",
        "simplify",
        "rewrite",
        "rename",
        "move",
        "get",
        "give",
        "turn",
        "update",
        "upgrade",
        "switch",
        "start",
        "look",
        "bypass",
        "time",
        "take",
        "set",
        "fall",
        "let",
        "shift",
        "restore",
        "revert",
        "reorder",
        "separate",
        "adjust",
    }
)
#: After these, the first word is not a verb: `Align should reset …`, `Cache is never …`, `Cast error when …`
_AFTER_NOUN: Final = re.compile(
    r"^(?:should|must|is|are|was|were|can|cannot|can't|will|won't|does|doesn't|not"
    r"|errors?|bugs?|issues?|as|types?|options?|support|key|name)\b"
)
#: A second imperative; the word after it distinguishes it from a noun.
_SECOND: Final = re.compile(
    r"\b(and|or|then) ([a-z]+)(?= (?:the|an?|its?|them|all|any|each|every|to|into|from|with|on|only|this|that|their)\b)"
)
_NOUN_PHRASE: Final = re.compile(r"^(?:an?|the)\s+(.{3,})$", re.IGNORECASE)
_ASKS: Final = re.compile(r"^(?:where|how|what|which|why|who|when|does|is|are|can|do)\b", re.IGNORECASE)
_GERUND: Final = re.compile(r"^[A-Za-z]{2,}ing\b(?!\s*(?:for|of|in|to|and|or)?\s*$)")
#: References to something outside the sentence.
_POINTS: Final = re.compile(
    r"\b(?:this|these|those|above|below|following|previous|here|our|we|us|such|former|latter)\b|^(?:it|they)\b",
    re.IGNORECASE,
)


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def weight(text: str) -> int:
    return len(set(content_words(text)) - ADDED)  # content words


def is_query_length(text: str) -> bool:
    if not text.isprintable() or len(text) > QueryTextRules.longest or len(text.split()) > QueryTextRules.most:
        return False
    return weight(text) >= QueryTextRules.fewest


def stands_alone(text: str) -> bool:
    """Return whether a text has no word that refers to its context, such as 'this' or 'above'."""
    return _POINTS.search(text) is None


def make_question(text: str) -> str:
    """Turn a title or sentence into a question; text that fits no pattern only loses its final punctuation."""
    plain = text.strip().rstrip(".:;!,").strip()
    if not plain or _ASKS.match(plain):
        return plain
    first, _, rest = plain.partition(" ")
    verb = first.lower()
    if _AFTER_NOUN.match(rest):
        return plain
    if verb in VERBS and rest:

        def conjugate(match: re.Match[str]) -> str:
            return f"{match[1]} {third_person(match[2])}" if match[2] in VERBS else match[0]

        rest = re.sub(r"^(and|or) ([a-z]+)\b", conjugate, _SECOND.sub(conjugate, rest))
        return f"which code {third_person(verb)} {rest}?"
    if (base := base_form(verb)) in VERBS and base != verb and rest:
        return f"which code {third_person(base)} {rest}?"
    noun_phrase = _NOUN_PHRASE.match(plain)
    return f"where is the {noun_phrase[1]}?" if noun_phrase else plain


def topic_question(heading: str) -> str:
    return f"how does {lower_first(heading)} work?" if _GERUND.match(heading) else make_question(heading)


def change_question(subject: str) -> str | None:
    """Turn a commit subject into a question about the current behavior; return None if no rule fits."""
    subject = _TAIL.sub("", " ".join(subject.split()).rstrip(".:;!,"))
    added, fixed, should = _ADDITION.match(subject), _FIX.match(subject), _SHOULD_DO.match(subject)
    if _TWO_CHANGES.search(subject) or _ABOUT_CHANGE.search(subject) or _OPEN_END.search(subject):
        return None
    if (avoided := _AVOID.match(subject)) and avoided[1].lower() in VERBS:
        return f"where do we avoid {_gerund(avoided[1].lower())} {avoided[2]}?"
    if should:
        return f"what makes {lower_first(should[1])} {should[2]}?"
    if added:
        rest = subject[added.end() :]
        means = _MEANS.match(rest)
        if means and base_form(means[1].lower()) in VERBS:
            return f"where do we {base_form(means[1].lower())} {means[2]}?"
        if rest.split(" ", 1)[0] in _CLEAR_VERBS:
            return f"where do we {rest}?"
        if _SUPPORT.search(added[0]) or _GERUND.match(rest):
            return f"where do we support {rest}?"
        return f"where do we {'add' if _ADDED_TO.search(rest) else 'implement'} {rest}?"
    if fixed:
        return _fix_question(lower_first(subject[fixed.end() :]))
    first, _, rest = subject.partition(" ")
    verb = base_form(first.lower())
    if verb not in VERBS - _ABOUT_CODE or not rest or _AFTER_NOUN.match(rest):
        return None
    if verb == "include" and not re.search(r"\bin(?:to)?\b", rest):
        return None  # the noun, as in `include with dynamic variables`
    return f"where do we {verb} {rest.removeprefix('for ') if verb == 'support' else rest}?"


def _fix_question(problem: str) -> str | None:
    if works := _NOT_WORKING.match(problem):
        return f"what makes {works[1]} work {works[2]}?"
    if _NEGATED.search(problem):
        return None  # unclear whether it describes the problem or the wanted behavior
    if _PROBLEM.match(problem) or " being " in problem:
        return f"what prevents {problem}?"
    problem = re.sub(r"^(?:handling|cases?|processing) of ", "", problem)
    first = problem.split(" ", 1)[0]
    if base_form(first) in VERBS and first not in _NOUNS:
        return None
    return f"how do we handle {problem}?"


def _gerund(verb: str) -> str:
    if re.fullmatch(r"[^aeiou]*[aeiou][bdgklmnprt]", verb):
        return f"{verb}{verb[-1]}ing"
    return f"{verb[:-1] if verb.endswith('e') and not verb.endswith('ee') else verb}ing"


def describes_behavior(subject: str) -> bool:
    """Return whether a commit subject describes behavior, not just the fact of a change."""
    question = change_question(subject)
    if _DONE.search(subject) or question is None:
        return False
    return _WHEN.search(question) is not None if question.startswith("how do we handle") else True


def lower_first(text: str) -> str:
    """Lowercase the first letter of a text, unless its first word has digits, symbols or other capital letters."""
    first = text.split(" ", 1)[0]
    plain = first[:1].isupper() and first[1:].islower() and first.isalpha()
    return text[:1].lower() + text[1:] if plain or len(first) == 1 else text


def third_person(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def base_form(word: str) -> str:
    """Return the base form of a verb in the third person (parses, matches, applies), else the word itself."""
    if _THIRD.match(word) is None:
        return word
    candidates = (word[:-1], word[:-2], f"{word[:-3]}y" if word.endswith("ies") else "")
    return next((verb for verb in candidates if verb in VERBS), word)
