from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from assay.corpus import read_text
from assay.gold.code_index import (
    TARGET_KINDS,
    CodeIndex,
    DefinitionRef,
    SampleSize,
    doc_sentence,
    find_documentation,
    name_key,
    stem_all,
)
from assay.gold.mining.intake import MAX_LEAKAGE, MAX_TARGET_LINES, Intent, MinedItems, draw_intents, normalize
from assay.gold.mining.questions import (
    VERBS,
    QueryTextRules,
    base_form,
    is_query_length,
    lower_first,
    make_question,
    stands_alone,
    topic_question,
)
from assay.gold.query_properties import leakage
from assay.gold.review.items import ItemOrigin
from assay.syntax.identifiers import parts, split
from assay.syntax.prose import content_words, is_idle, is_prose, mentions_name, split_sentences, strip_markup
from assay.syntax.text import find_headings, iter_unfenced
from assay.types import Span, Target


class DocRules:
    named: int = 2  # maximum targets named by a sentence; a sentence with more is a list
    longest: int = 400  # maximum lines of a target; documents often name a whole class
    largest: int = 2_000_000  # maximum bytes of a document; a larger file is data
    alike: float = 0.7  # share of common words from which two comments count as the same
    shortest: int = 3  # minimum lines of a target; shorter definitions are mostly constants of a group


_VERBATIM: Final = (
    "the words of the query are copied from the corpus, so lexical search finds the target easily: "
    "after acceptance, rephrase the query in the gold file"
)
#: Documents about the project, not about its code.
_NOT_ABOUT_CODE: Final = re.compile(
    r"(?:^|/)(?:change(?:s|log)|history|news|releases?|licen[cs]e|contributing|contributors|authors|security|funding"
    r"|code_of_conduct|governance|migrat\w*|upgrad\w*|roadmap|todo)\b[^/]*$|release[-_]?notes|whatsnew",
    re.IGNORECASE,
)
#: Directives, tables, images, lists, quotes, indented blocks, underlines and rules.
_NO_PROSE: Final = re.compile(r"^\s*(?:\.\. |\||!\[|<|[-*+] |\d+\. |>|:\w+:\s)|^\s{3,}|^([=\-~^\"'*+#`.:_])\1{2,}\s*$")
#: A name in inline code, with an optional role before it.
_SPAN: Final = re.compile(r"(?::[\w:]+:)?(`{1,2})~?!?([^`\n]{2,120})\1")
_NAME: Final = re.compile(r"^[@#]?([A-Za-z_][\w]*(?:(?:\.|::|->|#)[A-Za-z_~]\w*)*)!?(?:\([^()]*\))?$")
_KIND: Final = (
    r"(?:\s+(?:function|method|class|type|struct|trait|enum|object|helper|macro|module|decorator|hook|option))?"
)
_LEAD: Final = rf"^(?:(?:The|A|An)\s+)?\x00{_KIND}\s*(?:,[^,]*,)?\s+"
#: `Foo` parses …; `Foo` is a thing that …
_DOES: Final = re.compile(rf"{_LEAD}([a-z]+)\s+(.+)$", re.IGNORECASE)
_IS: Final = re.compile(rf"{_LEAD}is\s+(?:an?|the)\s+(.+)$", re.IGNORECASE)
#: Use `Foo` to parse …; To parse …, use `Foo`; You can parse … with `Foo`
_USE: Final = re.compile(
    rf"\b(?:use|using|call|calling|with)\s+(?:the\s+)?\x00{_KIND}\s+to\s+([a-z]+)\s+(.+)$", re.IGNORECASE
)
_TO: Final = re.compile(
    r"^(?:If you (?:want|need|wish) to|In order to|To)\s+([a-z]+)\s+([^\x00,]+),\s+"
    r"(?:you\s+(?:can|should|may|must)\s+|simply\s+|just\s+)*"
    r"(?:use|call|create|pass|set)\b[^\x00,]{0,30}\x00",
    re.IGNORECASE,
)
_CAN: Final = re.compile(
    r"^You can\s+(?:also\s+)?([a-z]+)\s+([^\x00]+?)\s+"
    r"(?:with|using|by (?:calling|using|passing|setting))\s+(?:the\s+)?\x00",
    re.IGNORECASE,
)


def mine_docs(code: CodeIndex, wanted: SampleSize) -> MinedItems:
    """Propose queries from Markdown and reStructuredText; targets are definitions and files named in inline code."""
    intents: dict[str, Intent] = {}
    for file in code.corpus.files:
        document = file.language in ("markdown", "rst") and file.size <= DocRules.largest
        if not document or _NOT_ABOUT_CODE.search(file.path):
            continue
        lines = read_text(code.corpus, file.path).split("\n")
        starts, prose = list(find_headings(lines)), dict(iter_unfenced(lines))
        for heading, after in zip_longest(starts, starts[1:]):
            end = after.line - 1 if after else len(lines)
            under = [prose.get(line, "") for line in range(heading.line + 1, end + 1)]
            origin = ItemOrigin("docs", f"line {heading.line} of {file.path}")
            for text, targets in _section_questions(code, heading.title, list(_sentences(under))):
                intents.setdefault(normalize(text), Intent(text, targets, origin, notes=(_VERBATIM,)))
    empty = "no sentence in Markdown or reStructuredText names and describes a definition"
    return _draw(list(intents.values()), wanted, "docs", empty)


def _draw(intents: Sequence[Intent], wanted: SampleSize, source: str, empty: str) -> MinedItems:
    if not intents:
        return MinedItems(notes=(f"{source}: {empty}",))
    return MinedItems(draw_intents(intents, wanted, source))


def _section_questions(code: CodeIndex, title: str, prose: Sequence[str]) -> list[tuple[str, tuple[Target, ...]]]:
    made: list[tuple[str, tuple[Target, ...]]] = []
    for sentence in prose:
        spans = [match[2] for match in _SPAN.finditer(sentence)]
        targets = _named_targets(code, spans)
        text = sentence_question(sentence) if len(targets) == 1 else None
        names = [re.split(r"\.|::|->|#|/", span.strip("()!@ "))[-1] or span for span in spans]
        if text and is_query_length(text) and stands_alone(text) and not any(mentions_name(text, n) for n in names):
            made.append((text, targets))
    if made or not prose:
        return made
    heading = strip_markup(title)
    targets = _named_targets(code, [match[2] for match in _SPAN.finditer(prose[0])])
    named = "`" in title or any(mentions_name(heading, t.symbol or t.span.path) for t in targets)
    text = topic_question(heading)
    fits = is_query_length(heading) and is_prose(heading, len(heading)) and not is_idle(heading)
    return [(text, targets)] if targets and not named and fits and text != heading else []


def _sentences(lines: Sequence[str]) -> Iterator[str]:
    paragraph: list[str] = []
    for line in (*lines, ""):
        if line.strip() and not _NO_PROSE.match(line):
            paragraph.append(line.strip())
        elif paragraph:
            # `split_sentences` removes backticks, so an unused character replaces them first.
            quoted = " ".join(paragraph).replace("``", "`").replace("`", "\x01")
            yield from (sentence.replace("\x01", "`") for sentence in split_sentences(quoted))
            paragraph = []


def sentence_question(sentence: str) -> str | None:
    """Turn a sentence about a name in inline code into a question; return None if the sentence fits no pattern."""
    marked = _SPAN.sub("\x00", sentence, count=1)
    plain = " ".join(strip_markup(marked).split()).rstrip(".:;!")
    for pattern in (_USE, _TO, _CAN):
        match = pattern.search(plain)
        if match and match[1].lower() in VERBS and "\x00" not in match[2]:
            return make_question(f"{match[1].lower()} {match[2]}")
    thing, does = _IS.match(plain), _DOES.match(plain)
    if thing and "\x00" not in thing[1]:
        return f"where is the {lower_first(thing[1])}?"
    verb = does[1].lower() if does else ""
    if does and "\x00" not in does[2] and base_form(verb) in VERBS and base_form(verb) != verb:
        return f"which code {verb} {does[2]}?"
    return None


def _named_targets(code: CodeIndex, spans: Sequence[str]) -> tuple[Target, ...]:
    targets: dict[str, Target] = {}
    for span in map(str.strip, spans):
        path, named = span.removeprefix("./"), _NAME.match(span)
        target: Target | None = None
        if "/" in span and code.is_own_code(path):
            target = Target(Span(path))
        elif named is not None:
            steps = re.split(r"\.|::|->|#", named[1])
            same = code.by_name.get(name_key(steps[-1]), ())
            refs = [ref for ref in same if code.can_be_target(ref) and ref.name == steps[-1]]
            if len(steps) > 1:
                inside = [ref for ref in refs if len(ref.names) > 1 and ref.names[-2] == steps[-2]]
                refs = inside or [ref for ref in refs if len(ref.names) == 1]
            if len(refs) == 1 and DocRules.shortest <= refs[0].lines <= DocRules.longest:
                target = code.anchor(refs[0])
        if target is not None:
            targets[target.anchor] = target
    return tuple(targets.values()) if len(targets) <= DocRules.named else ()


#: Declarations without an implementation.
ABSTRACT: Final = re.compile(r"@(?:abc\.)?abstract|\babstract\b|raise NotImplementedError")


def mine_comments(code: CodeIndex, wanted: SampleSize) -> MinedItems:
    """Propose queries from the first sentences of comments on definitions; skip sentences similar to others."""
    documented: list[tuple[DefinitionRef, str, int]] = []  # with the sentence and its line
    words: list[frozenset[str]] = []  # stems of each sentence
    by_stem: dict[str, list[int]] = defaultdict(list)
    for path, file in sorted(code.files.items()):
        documents = find_documentation(file.definitions, file.comments, apart=True)
        for position, (definition, comments) in enumerate(zip(file.definitions, documents, strict=True)):
            known = definition.kind in TARGET_KINDS and comments
            text = doc_sentence(comments, definition, file.language) if known else None
            if text:
                words.append(stem_all(parts(" ".join(content_words(text)))))
                for word in words[-1]:
                    by_stem[word].append(len(documented))
                documented.append((code.definition(path, position), text, comments[0].start))

    def has_similar(nth: int) -> bool:
        # Prefix filter: sets with a Jaccard similarity of at least `alike` share one of these rarest words.
        own = words[nth]
        rare = sorted(own, key=lambda word: (len(by_stem[word]), word))[: 1 + int((1 - DocRules.alike) * len(own))]
        others = (words[other] for word in rare for other in by_stem[word] if other != nth)
        return any(len(own & other) >= DocRules.alike * len(own | other) for other in others)

    fitting: list[Intent] = []
    for nth, (ref, text, line) in enumerate(documented):
        query_text = make_question(text)
        body = ref.definition.end - ref.definition.name_line + 1
        if (
            is_query_length(text)
            and stands_alone(text)
            and query_text != text
            and code.can_be_target(ref)
            and DocRules.shortest <= body <= MAX_TARGET_LINES
            and not has_similar(nth)
            and (target := code.anchor(ref)) is not None
            and leakage(query_text, (target,)) < MAX_LEAKAGE
            and not ABSTRACT.search(code.text(ref))
        ):
            origin = ItemOrigin("comments", f"the comment on line {line} of {ref.path}")
            fitting.append(Intent(query_text, (target,), origin, notes=(_VERBATIM,)))
    return _draw(fitting, wanted, "comments", "no definition has a comment with a usable sentence")


_BY_NAME: Final = "a lookup by name: tests whether an engine finds names, not whether it understands questions"


def mine_names(code: CodeIndex, wanted: SampleSize) -> MinedItems:
    fitting: list[Intent] = []
    for ref in code.definitions:
        if (
            DocRules.shortest <= ref.lines <= MAX_TARGET_LINES
            and code.can_be_target(ref)
            and len(split(ref.name)) >= QueryTextRules.fewest
            and len(code.by_name[name_key(ref.name)]) == 1
            and (target := code.anchor(ref)) is not None
        ):
            origin = ItemOrigin("names", f"a name in {ref.path}")
            fitting.append(Intent(" ".join(split(ref.name)), (target,), origin, "keyword", (_BY_NAME,)))
    return _draw(fitting, wanted, "names", "no suitable definition has a unique name of several words")
