"""Intents from documents: headings and sentences of Markdown and reStructuredText that name a definition or a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay.corpus import read_text
from assay.gold.leaks import leakage
from assay.gold.mining.codebase import CodeIndex, DefinitionRef, joined, stems
from assay.gold.mining.config import CHANGES, DOCS, TEXTS
from assay.gold.mining.intake import Intent, MinedItems, generator, is_query_length, normalized, sample_by_file
from assay.gold.mining.questions import VERBS, base_form, lowered, question, stands_alone, topic_question
from assay.gold.review.items import Origin
from assay.gold.synth.sets import ASKED, SampleSize, doc_question, documentation
from assay.syntax.identifiers import parts, split
from assay.syntax.prose import content, headings, is_idle, is_prose, names_it, sentences, unfenced, without_markup
from assay.types import Span, Target

#: What is only declared: others do the work.
_ABSTRACT: Final = re.compile(r"@(?:abc\.)?abstract|\babstract\b|raise NotImplementedError")
VERBATIM: Final = (
    "its words stand in the corpus as they are, so that word search finds them: "
    "once it is accepted, write the question in other words in the gold file"
)


def mine_comments(ground: CodeIndex, wanted: SampleSize) -> MinedItems:
    """Propose the sentences that document exactly one definition."""
    every = [sentence for path in sorted(ground.files) for sentence in _sentences(ground, path)]
    lonely = _without_twins(every)
    fitting = [intent for sentence in lonely if (intent := _intent(ground, sentence)) is not None]
    if not fitting:
        return MinedItems(notes=("comments: no definition has a comment that says in a sentence what it does",))
    return MinedItems(sample_by_file(fitting, wanted, generator(wanted, "comments")))


@dataclass(frozen=True, slots=True)
class _Sentence:
    """What is said of a definition, in which line, and the stems of its words."""

    spot: DefinitionRef
    text: str
    line: int
    stems: frozenset[str]


def _sentences(ground: CodeIndex, path: str) -> Iterator[_Sentence]:
    file = ground.files[path]
    documents = documentation(file.definitions, file.comments)
    for position, (definition, comments) in enumerate(zip(file.definitions, documents, strict=True)):
        text = doc_question(comments, definition, file.language) if definition.kind in ASKED and comments else None
        if text:
            said = stems(parts(" ".join(content(text))))
            yield _Sentence(ground.spot(path, position), text, comments[0].start, said)


def _without_twins(sentences: Sequence[_Sentence]) -> list[_Sentence]:
    holders: dict[str, list[_Sentence]] = {}
    for sentence in sentences:
        for word in sentence.stems:
            holders.setdefault(word, []).append(sentence)
    return [one for one in sentences if not any(_alike(one, other) for other in _nearest(one, holders))]


def _nearest(sentence: _Sentence, holders: Mapping[str, list[_Sentence]]) -> list[_Sentence]:
    rare = sorted(sentence.stems, key=lambda word: (len(holders[word]), word))
    shared = rare[: 1 + int((1 - DOCS.alike) * len(rare))]
    return [other for word in shared for other in holders[word] if other is not sentence]


def _alike(one: _Sentence, other: _Sentence) -> bool:
    return len(one.stems & other.stems) >= DOCS.alike * len(one.stems | other.stems)


def _intent(ground: CodeIndex, sentence: _Sentence) -> Intent | None:
    spot, asked = sentence.spot, question(sentence.text)
    fits = is_query_length(sentence.text) and stands_alone(sentence.text) and asked != sentence.text
    body = spot.definition.end - spot.definition.name_line + 1
    if not fits or not ground.answers(spot) or not DOCS.shortest <= body <= CHANGES.longest:
        return None
    target = ground.anchor(spot)
    if target is None or leakage(asked, (target,)) >= DOCS.leak or _ABSTRACT.search(ground.text(spot)):
        return None
    return Intent(
        asked, (target,), Origin("comments", f"the comment in line {sentence.line} of {spot.path}"), notes=(VERBATIM,)
    )


_LANGUAGES: Final = frozenset({"markdown", "rst"})
#: Documents about the project, not about its code.
_ASIDE: Final = re.compile(
    r"(?:^|/)(?:change(?:s|log)|history|news|releases?|licen[cs]e|contributing|contributors|authors|security|funding"
    r"|code_of_conduct|governance|migrat\w*|upgrad\w*|roadmap|todo)\b[^/]*$|release[-_]?notes|whatsnew",
    re.IGNORECASE,
)
#: Directives, tables, pictures, lists, quotes, what is set in, and lines over, under and between paragraphs.
_NO_PROSE: Final = re.compile(r"^\s*(?:\.\. |\||!\[|<|[-*+] |\d+\. |>|:\w+:\s)|^\s{3,}|^([=\-~^\"'*+#`.:_])\1{2,}\s*$")
#: A name in code quotes, with what people put around it.
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
    """A heading, the line it stands in, and the text under it."""

    heading: str
    line: int
    lines: tuple[str, ...]


def mine_docs(ground: CodeIndex, wanted: SampleSize) -> MinedItems:
    """Propose what documents say of definitions they name."""
    files = [f for f in ground.corpus.files if f.language in _LANGUAGES and f.size <= DOCS.largest]
    found: dict[str, Intent] = {}
    for file in files:
        if not _ASIDE.search(file.path):
            for intent in _intents(ground, file.path, read_text(ground.corpus, file.path)):
                found.setdefault(normalized(intent.text), intent)
    if not found:
        return MinedItems(
            notes=("docs: no Markdown or reStructuredText names a definition in a sentence that asks for it",)
        )
    return MinedItems(sample_by_file(list(found.values()), wanted, generator(wanted, "docs")))


def _intents(ground: CodeIndex, path: str, text: str) -> Iterator[Intent]:
    for section in _sections(text.split("\n")):
        origin = Origin("docs", f"line {section.line} of {path}")
        asked = list(_of_sentences(ground, section, origin))
        yield from asked or _of_heading(ground, section, origin)


def _of_sentences(ground: CodeIndex, section: _Section, origin: Origin) -> Iterator[Intent]:
    for sentence in _said(section):
        spans = [match[2] for match in _SPAN.finditer(sentence)]
        targets = _named(ground, spans)
        asked = sentence_question(sentence) if len(targets) == 1 else None
        if (
            asked
            and is_query_length(asked)
            and stands_alone(asked)
            and not any(names_it(asked, _last(s)) for s in spans)
        ):
            yield Intent(asked, targets, origin, notes=(VERBATIM,))


def _of_heading(ground: CodeIndex, section: _Section, origin: Origin) -> Iterator[Intent]:
    heading = without_markup(section.heading)
    first = next(iter(_said(section)), "")
    targets = _named(ground, [match[2] for match in _SPAN.finditer(first)])
    named = "`" in section.heading or any(names_it(heading, t.symbol or t.span.path) for t in targets)
    asked = topic_question(heading)
    fits = is_query_length(heading) and is_prose(heading, len(heading)) and not is_idle(heading)
    if targets and not named and fits and asked != heading:
        yield Intent(asked, targets, origin, notes=(VERBATIM,))


def sentence_question(sentence: str) -> str | None:
    """Ask for what a sentence says of the name it is about, which stands in code quotes; None when it says nothing."""
    marked = _SPAN.sub("\x00", sentence, count=1)
    plain = " ".join(without_markup(marked).split()).rstrip(".:;!")
    for pattern in (_USE, _TO, _CAN):
        found = pattern.search(plain)
        if found and found[1].lower() in VERBS and "\x00" not in found[2]:
            return question(f"{found[1].lower()} {found[2]}")
    thing = _IS.match(plain)
    if thing and "\x00" not in thing[1]:
        return f"where is the {lowered(thing[1])}?"
    does = _DOES.match(plain)
    if (
        does
        and base_form(does[1].lower()) in VERBS
        and base_form(does[1].lower()) != does[1].lower()
        and "\x00" not in does[2]
    ):
        return f"which code {does[1].lower()} {does[2]}?"
    return None


def _named(ground: CodeIndex, spans: Sequence[str]) -> tuple[Target, ...]:
    found = [target for span in spans if (target := _target(ground, span)) is not None]
    unique = {target.anchor: target for target in found}
    return tuple(unique.values()) if len(unique) <= DOCS.named else ()


def _target(ground: CodeIndex, span: str) -> Target | None:
    if "/" in span and ground.own(span.strip().removeprefix("./")):
        return Target(Span(span.strip().removeprefix("./")))
    named = _NAME.match(span.strip())
    if named is None:
        return None
    steps = re.split(r"\.|::|->|#", named[1])
    spots = [s for s in ground.by_name.get(joined(steps[-1]), ()) if ground.answers(s) and s.name == steps[-1]]
    if len(steps) > 1:
        inside = [s for s in spots if len(s.names) > 1 and s.names[-2] == steps[-2]]
        spots = inside or [s for s in spots if len(s.names) == 1]
    if len(spots) != 1 or spots[0].lines > DOCS.longest or spots[0].lines < DOCS.shortest:
        return None
    return ground.anchor(spots[0])


def _last(span: str) -> str:
    return re.split(r"\.|::|->|#|/", span.strip("()!@ "))[-1] or span


def _said(section: _Section) -> Iterator[str]:
    paragraph: list[str] = []
    for line in (*section.lines, ""):
        if line.strip() and not _NO_PROSE.match(line):
            paragraph.append(line.strip())
        elif paragraph:
            # `sentences` takes code quotes out; a sign that no text has stands for them meanwhile.
            kept = " ".join(paragraph).replace("``", "`").replace("`", "\x01")
            yield from (sentence.replace("\x01", "`") for sentence in sentences(kept))
            paragraph = []


def _sections(lines: Sequence[str]) -> Iterator[_Section]:
    starts = list(headings(lines))
    prose = dict(unfenced(lines))
    for number, heading in enumerate(starts):
        end = starts[number + 1].line - 1 if number + 1 < len(starts) else len(lines)
        under = tuple(prose.get(line, "") for line in range(heading.line + 1, end + 1))
        yield _Section(heading.title, heading.line, under)


_GIVEN: Final = "a look-up by name: it tells whether an engine finds names, not whether it understands questions"


def mine_names(ground: CodeIndex, wanted: SampleSize) -> MinedItems:
    """Propose the words of names that stand for exactly one definition."""
    fitting = [
        Intent(" ".join(split(spot.name)), (target,), Origin("names", f"a name in {spot.path}"), "keyword", (_GIVEN,))
        for spot in ground.spots
        if _is_asked(ground, spot) and (target := ground.anchor(spot)) is not None
    ]
    if not fitting:
        return MinedItems(notes=("names: no name of several words stands for exactly one definition",))
    return MinedItems(sample_by_file(fitting, wanted, generator(wanted, "names")))


def _is_asked(ground: CodeIndex, spot: DefinitionRef) -> bool:
    fits = DOCS.shortest <= spot.lines <= CHANGES.longest and ground.answers(spot)
    return fits and len(split(spot.name)) >= TEXTS.fewest and len(ground.by_name[joined(spot.name)]) == 1
