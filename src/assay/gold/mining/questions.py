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
_WHERE: Final = re.compile(r"\b(?:for|on|from|between|across|through)\b", re.IGNORECASE)
_DETAILED: Final = 4  # content words of a question about handling something, `handle` included
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
    r"\b(?:code|change entry|unreachable|functionality|explanation|godoc|getters?|setters?|would"
    r"|pr|commit|hack|todo|pragma|ineffectual|add back|back for|for now|clarif\w+"
    r"|mention\w*|notes?|jsdoc|rtype|classifiers?|tox|setuptools|properly|actual(?:ly)?|nicer|better|more|less"
    r"|clearer|faster|informative|credit to|reported by|as was|instead of|compat|concerns"
    r"|constants?|behaviou?r|logic|internals?|helpers?|wording|names? of"
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
#: Defects by name, unmatched quotes and operators: the texts of notes, not of questions.
_UNCLEAR: Final = re.compile(
    r"\b(?:bugs?|issues?|problems?|flaws?|kludges?|newly|accidental\w*|perf|performance|stuff|things?|etc"
    r"|re-?export\w*|rewrite|redesign|which|were|traits?|impl|clone|fields of"
    r"|(?:set|create\w*) (?:method|function)"
    r"|implement (?:\w+ )?(?:methods?|functions?|helpers?|class)"
    r"|avoid (?:check|us|call|creat|sett|need|allocat|copy|access|repeat|rely)\w*"
    r"|for (?:reduce|get|set|avoid|make|prevent)|has not|not has)\b|, too\b|[=!&|]{2}|=>|^[^\"]*\"[^\"]*$",
    re.IGNORECASE,
)
#: Adverbs before the verb.
_ADVERB: Final = re.compile(
    r"^(?:always|only|automatically|explicitly|correctly|properly|also) (?=[a-z])", re.IGNORECASE
)
#: `The pager now forwards …`.
_NOW: Final = re.compile(r"^(.{2,40}?) now (?:also |always )?([a-z]+) (.+)$")
_MAKE_SURE: Final = re.compile(r"^make sure (?:that )?(?!to\b)(.+)$", re.IGNORECASE)
_MAKE: Final = re.compile(r"^make (?!it\b|them\b|sure\b|all\b)(.+?) (work|[a-z]+) (.+)$", re.IGNORECASE)
_SHOULD_NOT: Final = re.compile(r"^(.+?) (?:should|must) (?:not|never) (?!be\b|have\b)([a-z]+) (.+)$", re.IGNORECASE)
#: `check for empty names`, `error when the name is empty`, after `add`.
_CHECK: Final = re.compile(r"^checks? (for|that|whether|if) (.+)$", re.IGNORECASE)
_ADDED_ERROR: Final = re.compile(
    r"^(?:\w+ )?(error|exception|warning)s? (?:messages? )?(when|if|for|on) (.+)$", re.IGNORECASE
)
#: A verb after a comma: a second change.
_COMMA_VERB: Final = re.compile(r", ([a-z]+) \w")
#: A condition, with which verbs of changes describe behavior.
_CONDITION: Final = re.compile(r"\b(?:when|if|unless|before|after|by default)\b", re.IGNORECASE)
_NOT_WORKING: Final = re.compile(r"^(.+?) not work(?:ing)? ((?:with|when|for|in|on|if|after)\b.+)$", re.IGNORECASE)
_NEGATED: Final = re.compile(
    r"\b(?:not|no|n't|never|doesn't|don't|isn't|can't|cannot|wouldn't|won't|to)\b", re.IGNORECASE
)
#: Nouns for problems, which the fixed code prevents.
_PROBLEM: Final = re.compile(
    r"(?:an? )?(?:[\w/-]+ ){0,3}?(?:panic|crash|error(?! handl| messag| report)|exception|failure|leak|race|deadlock"
    r"|hang|loss|loop|recursion|overflow"
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
#: Verbs of changes that describe behavior together with a condition: `Use the default if …`.
_CONDITIONAL: Final = frozenset({"use", "set", "get", "start", "put", "restore", "override", "turn", "convert"})
#: What follows a verb rather than a noun.
_OBJECT: Final = re.compile(r"(?:an?|the|all|any|each|every|value|\w+ (?:from|with|to|into|as))\b", re.IGNORECASE)
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
    subject = _ADVERB.sub("", _TAIL.sub("", " ".join(subject.split()).rstrip(".:;!,")))
    question = None if _is_note(subject) else _ask_change(subject)
    return None if question is None or _UNCLEAR.search(question) else question


def _is_note(subject: str) -> bool:
    after_comma = _COMMA_VERB.search(subject)
    if after_comma and after_comma[1] in VERBS - _NOUNS:
        return True
    return any(pattern.search(subject) for pattern in (_TWO_CHANGES, _ABOUT_CHANGE, _OPEN_END))


def _ask_change(subject: str) -> str | None:
    if (avoided := _AVOID.match(subject)) and avoided[1].lower() in VERBS:
        return f"where do we avoid {gerund(avoided[1].lower())} {avoided[2]}?"
    if (forbidden := _SHOULD_NOT.match(subject)) and forbidden[2] in VERBS:
        return f"what keeps {lower_first(forbidden[1])} from {gerund(forbidden[2])} {forbidden[3]}?"
    if should := _SHOULD_DO.match(subject):
        verb, _, rest = should[2].partition(" ")
        return f"what makes {lower_first(should[1])} {base_form(verb)} {rest}?"
    if (now := _NOW.match(subject)) and base_form(now[2]) in VERBS and base_form(now[2]) != now[2]:
        return f"what makes {lower_first(now[1])} {base_form(now[2])} {now[3]}?"
    if sure := _MAKE_SURE.match(subject):
        return f"where do we ensure that {lower_first(sure[1])}?"
    if (made := _MAKE.match(subject)) and made[2] in (VERBS - _NOUNS) | {"work"}:
        return f"what makes {made[1]} {made[2]} {made[3]}?"
    if added := _ADDITION.match(subject):
        return _addition_question(subject[added.end() :], is_support=_SUPPORT.search(added[0]) is not None)
    if fixed := _FIX.match(subject):
        return _fix_question(lower_first(subject[fixed.end() :]))
    first, _, rest = subject.partition(" ")
    verb = base_form(first.lower())
    known = VERBS if _CONDITION.search(rest) and verb in _CONDITIONAL else VERBS - _ABOUT_CODE
    if verb not in known or not rest or _AFTER_NOUN.match(rest):
        return None
    if verb == "include" and not re.search(r"\bin(?:to)?\b", rest):
        return None  # the noun, as in `include with dynamic variables`
    if verb in _NOUNS and re.match(r"\w+ \w+ed\b", rest):
        return None  # the noun, as in `match method added to …`
    return (
        _addition_question(rest.removeprefix("for "), is_support=True)
        if verb == "support"
        else f"where do we {verb} {rest}?"
    )


def _addition_question(rest: str, *, is_support: bool) -> str | None:
    means, check, error = _MEANS.match(rest), _CHECK.match(rest), _ADDED_ERROR.match(rest)
    first, _, after = rest.partition(" ")
    if means and base_form(means[1].lower()) in VERBS:
        return f"where do we {base_form(means[1].lower())} {means[2]}?"
    if check:
        return f"where do we check {'whether' if check[1].lower() == 'if' else check[1].lower()} {check[2]}?"
    if error:
        what = "warn" if error[1].lower() == "warning" else "raise an error"
        return f"where do we {what} {error[2].lower()} {error[3]}?"
    if first in _CLEAR_VERBS or (first in VERBS - _NOUNS and _OBJECT.match(after)):
        return f"where do we {rest}?"
    if first in VERBS - _NOUNS:
        return None  # as in `add use escaped path`
    if is_support or _GERUND.match(rest):
        return f"where do we support {rest}?"
    return f"where do we {'add' if _ADDED_TO.search(rest) else 'implement'} {rest}?"


def _fix_question(problem: str) -> str | None:
    if works := _NOT_WORKING.match(problem):
        return f"what makes {works[1]} work {works[2]}?"
    if _NEGATED.search(problem):
        return None  # unclear whether it describes the problem or the wanted behavior
    if _PROBLEM.match(problem) or " being " in problem:
        return f"what prevents {problem}?"
    problem = re.sub(r"^error handling\b", "errors", problem)
    problem = re.sub(r"^(?:handling|cases?|processing) of ", "", problem)
    first = problem.split(" ", 1)[0]
    if base_form(first) in VERBS and first not in _NOUNS:
        return None
    return f"how do we handle {problem}?"


#: Penalties on the rank of questions by their first words: the less a question sounds like behavior, the higher.
_PENALTIES: Final = (("where do we implement ", 0.4), ("where do we add ", 0.3), ("where do we avoid ", 0.2),
                     ("how do we handle ", 0.2))  # fmt: skip


def rate_wording(question: str) -> float:
    """Return a penalty on the rank of a question about a change: for words about the change and for few words."""
    few = 0.3 if weight(question) <= _DETAILED else 0.0
    return few + next((penalty for start, penalty in _PENALTIES if question.startswith(start)), 0.0)


def gerund(verb: str) -> str:
    if re.fullmatch(r"[^aeiou]*[aeiou][bdgklmnprt]", verb):
        return f"{verb}{verb[-1]}ing"
    return f"{verb[:-1] if verb.endswith('e') and not verb.endswith('ee') else verb}ing"


def describes_behavior(subject: str) -> bool:
    """Return whether a commit subject describes behavior, not just the fact of a change."""
    question = change_question(subject)
    if _DONE.search(subject) or question is None:
        return False
    if not question.startswith("how do we handle"):
        return True
    return _WHEN.search(question) is not None or (_WHERE.search(question) is not None and weight(question) > _DETAILED)


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
