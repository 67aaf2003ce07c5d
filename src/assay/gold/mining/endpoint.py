"""Queries by an endpoint, module by module; every location is looked up, and nothing is believed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import PurePosixPath
from typing import Final

from assay.chat import Endpoint, Prompt, complete, fence, prompt_version
from assay.errors import GoldError
from assay.gold.building import GoldLocation, parse_target
from assay.gold.leaks import replacements
from assay.gold.mining.codebase import CodeIndex, DefinitionRef
from assay.gold.mining.config import PHRASES, PROPOSING, TEXTS
from assay.gold.mining.intake import Intake, IntakeResult, Intent, Rejection, is_query_length, normalized
from assay.gold.mining.phrasings import MADE, Phrase, phrasing_item
from assay.gold.mining.privacy import private_part
from assay.gold.review.items import Origin
from assay.gold.synth.sets import SampleSize
from assay.syntax.prose import sentences
from assay.syntax.secrets import scrub
from assay.types import GoldSet, Query, Target

_INDENT: Final = "  "  # of a definition, below its file


@dataclass(frozen=True, slots=True)
class Module:
    """A folder of a corpus, and what it defines, in lines."""

    folder: str
    digest: str
    cut: int  # definitions that did not fit


def modules(ground: CodeIndex) -> tuple[Module, ...]:
    """Give the folders that have something to ask about, in path order."""
    folders: dict[str, list[DefinitionRef]] = {}
    for spot in ground.spots:
        if ground.answers(spot):
            folders.setdefault(str(PurePosixPath(spot.path).parent), []).append(spot)
    return tuple(_module(ground, name, folders[name]) for name in sorted(folders) if _is_worth(folders[name]))


def _is_worth(spots: list[DefinitionRef]) -> bool:
    return len(spots) >= PROPOSING.fewest


def _module(ground: CodeIndex, folder: str, spots: list[DefinitionRef]) -> Module:
    by_path: dict[str, list[DefinitionRef]] = {}
    for spot in spots:
        by_path.setdefault(spot.path, []).append(spot)
    share = PROPOSING.chars // len(by_path)
    lines: list[str] = []
    count = 0
    for path in sorted(by_path):
        own = list(_lines(ground, sorted(by_path[path], key=lambda s: (len(s.names), s.position))))
        lines += [path, *_within(own, share - len(path) - 1)]
        count += len(own)
    shown = _within(lines, PROPOSING.chars)
    return Module(folder, scrub("\n".join(shown)), count - sum(line.startswith(_INDENT) for line in shown))


def _lines(ground: CodeIndex, spots: list[DefinitionRef]) -> Iterator[str]:
    for spot in spots:
        target = ground.anchor(spot)
        if target is not None:
            doc = next(sentences(spot.definition.doc), "")[: PROPOSING.doc]
            signature = spot.definition.signature[: PROPOSING.signature]
            yield f"{_INDENT}{target.anchor} | {signature}" + (f" | {doc}" if doc else "")


def _within(lines: list[str], chars: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        chars -= len(line) + 1
        if chars < 0:
            break
        kept.append(line)
    return kept


def prompt(name: str) -> str:
    """Read a prompt."""
    return resources.files("assay.data").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


def fenced(name: str, lead: str, text: str) -> Prompt:
    """Put foreign text between marks that nobody could know in advance, so that nothing in it ends the quotation."""
    mark = fence(lead, text)
    return Prompt(prompt(name), f"{lead}\n<shown {mark}>\n{text}\n</shown {mark}>")


def origin(endpoint: Endpoint, name: str) -> Origin:
    """Say where an answer comes from: which model, served where, asked with which words."""
    return Origin("endpoint", f"{endpoint.name} prompt {name} {prompt_version(prompt(name))}")


_PROMPT: Final = "propose"
_WRAPPED: Final = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL)
_FORMS: Final = ("human", "keyword")


def propose(intake: Intake, endpoint: Endpoint, wanted: SampleSize) -> Iterator[IntakeResult]:
    """Ask module by module, in an order that the seed decides, until there are enough; give those of each at once."""
    import numpy as np

    known = modules(intake.ground)
    left = wanted.count
    for index in np.random.default_rng(wanted.seed).permutation(len(known)):
        if left <= 0:
            return
        passed = ask_module(intake, known[int(index)], endpoint, min(left, PROPOSING.each))
        left -= len(passed.items)
        yield passed


def ask_module(intake: Intake, module: Module, endpoint: Endpoint, count: int) -> IntakeResult:
    """Ask for the queries of one module, and let through what holds."""
    lead = f"Write at most {count} questions about the folder that is shown."
    answer = complete(endpoint, fenced(_PROMPT, lead, module.digest))
    entries = read_queries(answer)
    where = f"{endpoint.name}, folder {module.folder}"
    cut = f"folder {module.folder}: {module.cut} of its definitions did not fit, so the model did not see them"
    notes = (cut,) if module.cut else ()
    if isinstance(entries, str):
        return IntakeResult(refused=(Rejection(where, entries),), notes=notes)
    read = [_intent(intake.ground, entry, endpoint, where) for entry in entries[:count]]
    extra = (Rejection(where, f"{len(entries) - count} more than were asked for"),) if len(entries) > count else ()
    passed = intake.queries([one for one in read if isinstance(one, Intent)])
    refused = tuple(one for one in read if isinstance(one, Rejection))
    return replace(passed, refused=(*refused, *passed.refused, *extra), notes=notes)


def read_queries(answer: str) -> list[Mapping[str, object]] | str:
    """Find the list of queries in an answer, bare or in a code fence; a text says what is wrong."""
    wrapped = _WRAPPED.search(answer)
    try:
        value = json.loads(wrapped[1] if wrapped else answer)
    except (ValueError, RecursionError):
        return "the answer is no JSON"
    entries = value.get("queries") if isinstance(value, dict) else value
    if not isinstance(entries, list):
        return "the answer has no list of queries"
    return [entry if isinstance(entry, dict) else {} for entry in entries]


def _intent(ground: CodeIndex, entry: Mapping[str, object], endpoint: Endpoint, where: str) -> Intent | Rejection:
    texts = {form: _line(entry.get(form)) for form in _FORMS}
    named = entry.get("targets")
    if not texts["human"] or not isinstance(named, list) or not named:
        return Rejection(where, "a query lacks its text or its targets")
    if not is_query_length(texts["human"]):
        return Rejection(where, "the text is too short or too long to be a question", texts["human"][: TEXTS.longest])
    targets = _targets(ground, named)
    if isinstance(targets, str):
        return Rejection(where, targets, texts["human"])
    why = _line(entry.get("why"))
    notes = (f"the model says: {why}",) if why and private_part(why, known=ground.known) is None else ()
    more = {"keyword": texts["keyword"]} if texts["keyword"] else {}
    return Intent(texts["human"], targets, origin(endpoint, _PROMPT), notes=notes, forms=more)


def _targets(ground: CodeIndex, named: list[object]) -> tuple[Target, ...] | str:
    if len(named) > PROPOSING.targets:
        return f"{len(named)} targets are too many for one question"
    found: dict[str, Target] = {}
    for name in named:
        try:
            target = parse_target(str(name).strip(), GoldLocation("the answer"))
        except GoldError as error:
            return error.message
        spots = ground.spots_of(target)
        if ground.resolved(target) is None:
            return f"{target.anchor} is not in the corpus"
        if not spots or not all(ground.answers(spot) for spot in spots):
            return f"{target.anchor} is no code that may answer"
        found[target.anchor] = target
    return tuple(found.values())


def _line(value: object) -> str:
    if not isinstance(value, str):
        return ""
    line = " ".join("".join(char if char.isprintable() else " " for char in value).split())
    return line[: TEXTS.longest]


def ask_phrasings(intake: Intake, gold: GoldSet, endpoint: Endpoint) -> Iterator[IntakeResult]:
    """Ask for the phrasings that queries lack, and give them query by query, so that none is lost to a failure."""
    for query in gold.queries:
        for form in MADE:
            if form not in query.forms and not (form == "wrong_terminology" and "human" not in query.forms):
                yield _asked(intake, query, form, endpoint)


def _asked(intake: Intake, query: Query, form: str, endpoint: Endpoint) -> IntakeResult:
    name = f"phrase-{form}"
    answer = complete(endpoint, fenced(name, f"Write the form called {form}.", shown(intake.ground, query))).strip()
    problem = answer_problem(query, form, answer, intake.ground.known)
    if problem is not None:
        return IntakeResult(refused=(Rejection(f"{endpoint.name}, {form} of {query.id}", problem),))
    return IntakeResult((phrasing_item(intake, query, Phrase(form, answer), origin(endpoint, name)),))


def shown(ground: CodeIndex, query: Query) -> str:
    """Write out a query and the code that answers it, cut to a bound."""
    forms = [f"{form}: {query.forms[form]}" for form in query.ordered_forms]
    code = [f"{spot.path}\n{ground.text(spot)}" for target in query.targets[:1] for spot in ground.spots_of(target)[:1]]
    return "\n".join([*forms, "", *code])[: PHRASES.shown]


def answer_problem(query: Query, form: str, answer: str, known: frozenset[str] = frozenset()) -> str | None:
    """Say why an answer is no phrasing: several lines, too long, said before, private, or not exactly one error."""
    if not answer:
        return "the answer is empty"
    if "\n" in answer or not answer.isprintable():
        return "the answer is more than one line"
    if len(answer) > PHRASES.answer:
        return f"the answer has more than {PHRASES.answer} characters"
    if normalized(answer) in {normalized(text) for text in query.forms.values()}:
        return "the answer says what another form says"
    private = private_part(answer, known=known)
    if private is not None:
        return f"the answer holds {private}"
    if form == "wrong_terminology" and replacements(query.forms.get("human", ""), answer) != 1:
        return "the answer does not differ from the human form in exactly one term"
    return None
