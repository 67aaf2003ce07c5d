"""Mining of documentation: sentences and headings that name a definition, comments on one, and names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay.corpus import read_text
from assay.gold.codebase import (
    TARGET_KINDS,
    CodeIndex,
    DefinitionRef,
    SampleSize,
    doc_sentence,
    documentation,
    name_key,
    stems,
)
from assay.gold.leaks import leakage
from assay.gold.mining.intake import MAX_LEAKAGE, MAX_TARGET_LINES, Intent, MinedItems, draw_intents, normalize
from assay.gold.mining.questions import (
    TEXTS,
    VERBS,
    base_form,
    is_query_length,
    lower_first,
    question,
    stands_alone,
    topic_question,
)
from assay.gold.review.items import Origin
from assay.syntax.identifiers import parts, split
from assay.syntax.prose import content, headings, is_idle, is_prose, names_it, sentences, unfenced, without_markup
from assay.types import Span, Target


@dataclass(frozen=True, slots=True)
class DocRules:
    """Which sections and sentences of documents and comments become proposals."""

    named: int = 2  # most definitions that one sentence or heading may name; more is a list
    longest: int = 400  # lines of a target; documents often name a whole class
    largest: int = 2_000_000  # bytes of a document; more is data
    alike: float = 0.7  # share of common words from which on two comments say the same
    shortest: int = 3  # lines of a documented definition; a shorter one is mostly a constant of a group


DOCS: Final = DocRules()
_VERBATIM: Final = (
    "its words are copied from the corpus, so lexical search finds it easily: "
    "after acceptance, rephrase the query in the gold file"
)
_LANGUAGES: Final = frozenset({"markdown", "rst"})
#: Documents about the project, not about its code.
_NOT_ABOUT_CODE: Final = re.compile(
    r"(?:^|/)(?:change(?:s|log)|history|news|releases?|licen[cs]e|contributing|contributors|authors|security|funding"
    r"|code_of_conduct|governance|migrat\w*|upgrad\w*|roadmap|todo)\b[^/]*$|release[-_]?notes|whatsnew",
    re.IGNORECASE,
)
#: Directives, tables, images, lists, quotes, indented blocks, underlines and rules.
_NO_PROSE: Final = re.compile(r"^\s*(?:\.\. |\||!\[|<|[-*+] |\d+\. |>|:\w+:\s)|^\s{3,}|^([=\-~^\"'*+#`.:_])\1{2,}\s*$")
#: A name in code quotes, with a role before it.
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


@dataclass(frozen=True, slots=True)
class _Section:
    heading: str
    line: int
    lines: tuple[str, ...]


def mine_docs(code: CodeIndex, wanted: SampleSize) -> MinedItems:
    """Propose sentences and headings of documents that name a definition."""
    found: dict[str, Intent] = {}
    for file in code.corpus.files:
        if file.language in _LANGUAGES and file.size <= DOCS.largest and not _NOT_ABOUT_CODE.search(file.path):
            for section in _sections(read_text(code.corpus, file.path).split("\n")):
                origin = Origin("docs", f"line {section.line} of {file.path}")
                intents = list(_sentence_intents(code, section, origin)) or _heading_intents(code, section, origin)
                for intent in intents:
                    found.setdefault(normalize(intent.text), intent)
    empty = "no Markdown or reStructuredText sentence describes a definition that it names"
    return _draw(list(found.values()), wanted, "docs", empty)


def _draw(intents: Sequence[Intent], wanted: SampleSize, source: str, empty: str) -> MinedItems:
    if not intents:
        return MinedItems(notes=(f"{source}: {empty}",))
    return MinedItems(draw_intents(intents, wanted, source))


def _sections(lines: Sequence[str]) -> Iterator[_Section]:
    starts = list(headings(lines))
    prose = dict(unfenced(lines))
    for number, heading in enumerate(starts):
        end = starts[number + 1].line - 1 if number + 1 < len(starts) else len(lines)
        under = tuple(prose.get(line, "") for line in range(heading.line + 1, end + 1))
        yield _Section(heading.title, heading.line, under)


def _sentence_intents(code: CodeIndex, section: _Section, origin: Origin) -> Iterator[Intent]:
    for sentence in _section_sentences(section):
        spans = [match[2] for match in _SPAN.finditer(sentence)]
        targets = _named_targets(code, spans)
        asked = sentence_question(sentence) if len(targets) == 1 else None
        names = [re.split(r"\.|::|->|#|/", span.strip("()!@ "))[-1] or span for span in spans]
        if asked and is_query_length(asked) and stands_alone(asked) and not any(names_it(asked, n) for n in names):
            yield Intent(asked, targets, origin, notes=(_VERBATIM,))


def _heading_intents(code: CodeIndex, section: _Section, origin: Origin) -> Iterator[Intent]:
    heading = without_markup(section.heading)
    first = next(_section_sentences(section), "")
    targets = _named_targets(code, [match[2] for match in _SPAN.finditer(first)])
    named = "`" in section.heading or any(names_it(heading, t.symbol or t.span.path) for t in targets)
    asked = topic_question(heading)
    fits = is_query_length(heading) and is_prose(heading, len(heading)) and not is_idle(heading)
    if targets and not named and fits and asked != heading:
        yield Intent(asked, targets, origin, notes=(_VERBATIM,))


def _section_sentences(section: _Section) -> Iterator[str]:
    paragraph: list[str] = []
    for line in (*section.lines, ""):
        if line.strip() and not _NO_PROSE.match(line):
            paragraph.append(line.strip())
        elif paragraph:
            # `sentences` removes code quotes, so a character that no text has replaces them meanwhile.
            kept = " ".join(paragraph).replace("``", "`").replace("`", "\x01")
            yield from (sentence.replace("\x01", "`") for sentence in sentences(kept))
            paragraph = []


def sentence_question(sentence: str) -> str | None:
    """Make a question of a sentence about a name in code quotes, or return None."""
    marked = _SPAN.sub("\x00", sentence, count=1)
    plain = " ".join(without_markup(marked).split()).rstrip(".:;!")
    for pattern in (_USE, _TO, _CAN):
        found = pattern.search(plain)
        if found and found[1].lower() in VERBS and "\x00" not in found[2]:
            return question(f"{found[1].lower()} {found[2]}")
    thing = _IS.match(plain)
    if thing and "\x00" not in thing[1]:
        return f"where is the {lower_first(thing[1])}?"
    does = _DOES.match(plain)
    if does and "\x00" not in does[2]:
        verb = does[1].lower()
        if base_form(verb) in VERBS and base_form(verb) != verb:
            return f"which code {verb} {does[2]}?"
    return None


def _named_targets(code: CodeIndex, spans: Sequence[str]) -> tuple[Target, ...]:
    found = [target for span in spans if (target := _named_target(code, span)) is not None]
    unique = {target.anchor: target for target in found}
    return tuple(unique.values()) if len(unique) <= DOCS.named else ()


def _named_target(code: CodeIndex, span: str) -> Target | None:
    path = span.strip().removeprefix("./")
    if "/" in span and code.is_own_code(path):
        return Target(Span(path))
    named = _NAME.match(span.strip())
    if named is None:
        return None
    steps = re.split(r"\.|::|->|#", named[1])
    refs = [s for s in code.by_name.get(name_key(steps[-1]), ()) if code.can_be_target(s) and s.name == steps[-1]]
    if len(steps) > 1:
        inside = [s for s in refs if len(s.names) > 1 and s.names[-2] == steps[-2]]
        refs = inside or [s for s in refs if len(s.names) == 1]
    if len(refs) != 1 or not DOCS.shortest <= refs[0].lines <= DOCS.longest:
        return None
    return code.anchor(refs[0])


#: Declarations without an implementation.
_ABSTRACT: Final = re.compile(r"@(?:abc\.)?abstract|\babstract\b|raise NotImplementedError")


@dataclass(frozen=True, slots=True)
class _Comment:
    ref: DefinitionRef
    text: str
    line: int
    stems: frozenset[str]


def mine_comments(code: CodeIndex, wanted: SampleSize) -> MinedItems:
    """Propose sentences that document exactly one definition."""
    every = [comment for path in sorted(code.files) for comment in _comments(code, path)]
    fitting = [intent for comment in _without_similar(every) if (intent := _comment_intent(code, comment)) is not None]
    return _draw(fitting, wanted, "comments", "no definition has a comment with a usable sentence")


def _comments(code: CodeIndex, path: str) -> Iterator[_Comment]:
    file = code.files[path]
    documents = documentation(file.definitions, file.comments)
    for position, (definition, comments) in enumerate(zip(file.definitions, documents, strict=True)):
        if definition.kind in TARGET_KINDS and comments:
            text = doc_sentence(comments, definition, file.language)
            if text:
                words = stems(parts(" ".join(content(text))))
                yield _Comment(code.definition(path, position), text, comments[0].start, words)


def _without_similar(comments: Sequence[_Comment]) -> list[_Comment]:
    by_stem: dict[str, list[_Comment]] = {}
    for comment in comments:
        for word in comment.stems:
            by_stem.setdefault(word, []).append(comment)

    def has_similar(one: _Comment) -> bool:
        # Prefix filter: two sets with this Jaccard similarity share one of so many of their rarest words.
        rare = sorted(one.stems, key=lambda word: (len(by_stem[word]), word))
        for word in rare[: 1 + int((1 - DOCS.alike) * len(rare))]:
            for other in by_stem[word]:
                if other is not one and len(one.stems & other.stems) >= DOCS.alike * len(one.stems | other.stems):
                    return True
        return False

    return [one for one in comments if not has_similar(one)]


def _comment_intent(code: CodeIndex, comment: _Comment) -> Intent | None:
    ref, asked = comment.ref, question(comment.text)
    fits = is_query_length(comment.text) and stands_alone(comment.text) and asked != comment.text
    body = ref.definition.end - ref.definition.name_line + 1
    if not fits or not code.can_be_target(ref) or not DOCS.shortest <= body <= MAX_TARGET_LINES:
        return None
    target = code.anchor(ref)
    if target is None or leakage(asked, (target,)) >= MAX_LEAKAGE or _ABSTRACT.search(code.text(ref)):
        return None
    origin = Origin("comments", f"the comment in line {comment.line} of {ref.path}")
    return Intent(asked, (target,), origin, notes=(_VERBATIM,))


_BY_NAME: Final = "a look-up by name: it tests whether an engine finds names, not whether it understands questions"


def mine_names(code: CodeIndex, wanted: SampleSize) -> MinedItems:
    """Propose the words of names that only one definition has."""
    fitting: list[Intent] = []
    for ref in code.definitions:
        if (
            DOCS.shortest <= ref.lines <= MAX_TARGET_LINES
            and code.can_be_target(ref)
            and len(split(ref.name)) >= TEXTS.fewest
            and len(code.by_name[name_key(ref.name)]) == 1
            and (target := code.anchor(ref)) is not None
        ):
            origin = Origin("names", f"a name in {ref.path}")
            fitting.append(Intent(" ".join(split(ref.name)), (target,), origin, "keyword", (_BY_NAME,)))
    return _draw(fitting, wanted, "names", "no name of several words is unique")
