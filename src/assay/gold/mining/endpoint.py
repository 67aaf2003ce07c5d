"""Request queries and phrasings from a model endpoint, and reject invalid ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Final

from assay.chat import Endpoint, Prompt, complete, load_prompt, parse_json, prompt_version, quote
from assay.errors import GoldError
from assay.gold.anchors import parse_target
from assay.gold.build import GoldLocation
from assay.gold.code_index import CodeIndex, DefinitionRef, SampleSize
from assay.gold.mining.intake import Intake, IntakeResult, Intent, Rejection, normalize
from assay.gold.mining.phrasings import MADE, Phrase, PhrasingRules, phrasing_item
from assay.gold.mining.privacy import private_part
from assay.gold.mining.questions import QueryTextRules, is_query_length
from assay.gold.query_properties import count_replacements
from assay.gold.review.items import ItemOrigin
from assay.redaction import scrub_secrets
from assay.syntax.prose import split_sentences
from assay.types import GoldSet, Query, Target


class ProposalRules:
    chars: int = 9_000  # of a listing: about 2,500 tokens, which fit the context of small models
    each: int = 4  # queries per directory
    doc: int = 160  # characters of a doc line
    signature: int = 160  # characters of a signature
    fewest: int = 2  # minimum definitions of a directory
    targets: int = 4  # per query


_INDENT: Final = "  "  # of a definition, below its file


@dataclass(frozen=True, slots=True)
class ModuleListing:
    directory: str
    listing: str
    cut: int  # definitions that did not fit


def propose(intake: Intake, endpoint: Endpoint, wanted: SampleSize) -> Iterator[IntakeResult]:
    """Request queries for directories in random order until `wanted.count` queries are accepted; yield each result."""
    import numpy as np

    known = modules(intake.code)
    left = wanted.count
    for index in np.random.default_rng(wanted.seed).permutation(len(known)):
        if left <= 0:
            return
        module, count = known[int(index)], min(left, ProposalRules.each)
        lead = f"Write at most {count} questions about the directory shown."
        entries = read_queries(_ask(endpoint, "propose", lead, module.listing))
        where = f"{endpoint.name}, directory {module.directory}"
        cut = f"directory {module.directory}: {module.cut} definitions did not fit into the prompt"
        notes = (cut,) if module.cut else ()
        if isinstance(entries, str):
            yield IntakeResult(refused=(Rejection(where, entries),), notes=notes)
            continue
        read = [_intent(intake.code, entry, endpoint, where) for entry in entries[:count]]
        result = intake.queries([proposal for proposal in read if isinstance(proposal, Intent)])
        refused = [*(proposal for proposal in read if isinstance(proposal, Rejection)), *result.refused]
        if len(entries) > count:
            refused.append(Rejection(where, f"{len(entries) - count} more queries than requested"))
        left -= len(result.items)
        yield replace(result, refused=tuple(refused), notes=notes)


def modules(code: CodeIndex) -> tuple[ModuleListing, ...]:
    """List the possible targets of each directory that has several, cut to the length of a prompt, in path order."""
    directories: dict[str, dict[str, list[DefinitionRef]]] = {}
    for ref in code.definitions:
        if code.can_be_target(ref):
            directories.setdefault(str(PurePosixPath(ref.path).parent), {}).setdefault(ref.path, []).append(ref)
    modules: list[ModuleListing] = []
    for directory, files in sorted(directories.items()):
        if sum(map(len, files.values())) < ProposalRules.fewest:
            continue
        lines: list[str] = []
        count = 0
        for path in sorted(files):
            own: list[str] = []
            for ref in sorted(files[path], key=lambda ref: (len(ref.names), ref.position)):
                if (target := code.anchor(ref)) is not None:
                    doc = next(split_sentences(ref.definition.doc), "")[: ProposalRules.doc]
                    signature = ref.definition.signature[: ProposalRules.signature]
                    own.append(f"{_INDENT}{target.anchor} | {signature}" + (f" | {doc}" if doc else ""))
            lines += [path, *_cut(own, ProposalRules.chars // len(files) - len(path) - 1)]
            count += len(own)
        shown = _cut(lines, ProposalRules.chars)
        left_out = count - sum(line.startswith(_INDENT) for line in shown)
        modules.append(ModuleListing(directory, scrub_secrets("\n".join(shown)), left_out))
    return tuple(modules)


def _cut(lines: list[str], chars: int) -> list[str]:
    ends = accumulate(len(line) + 1 for line in lines)
    return [line for line, end in zip(lines, ends, strict=True) if end <= chars]


def _ask(endpoint: Endpoint, prompt: str, lead: str, text: str) -> str:
    return complete(endpoint, Prompt(load_prompt(prompt), f"{lead}\n{quote(text, 'shown', lead)}"))


def _origin(endpoint: Endpoint, prompt: str) -> ItemOrigin:
    return ItemOrigin("endpoint", f"{endpoint.name} prompt {prompt} {prompt_version(load_prompt(prompt))}")


def read_queries(answer: str) -> list[Mapping[str, object]] | str:
    """Return the queries in a model's answer, or an error message; an entry that is not an object becomes empty."""
    try:
        value = parse_json(answer, prose=True)
    except ValueError:
        return "the answer is not JSON"
    entries = value.get("queries") if isinstance(value, dict) else value
    if not isinstance(entries, list):
        return "the answer has no list of queries"
    return [entry if isinstance(entry, dict) else {} for entry in entries]


def _intent(code: CodeIndex, entry: Mapping[str, object], endpoint: Endpoint, where: str) -> Intent | Rejection:
    texts = [value if isinstance(value := entry.get(key), str) else "" for key in ("human", "keyword", "why")]
    printable = ("".join(char if char.isprintable() else " " for char in text) for text in texts)
    human, keyword, why = (" ".join(text.split())[: QueryTextRules.longest] for text in printable)
    named = entry.get("targets")
    if not human or not isinstance(named, list) or not named:
        return Rejection(where, "a query lacks a text or targets")
    if not is_query_length(human):
        return Rejection(where, "the text is too short or too long for a query", human)
    if len(named) > ProposalRules.targets:
        return Rejection(where, f"expected at most {ProposalRules.targets} targets, got {len(named)}", human)
    targets: dict[str, Target] = {}
    for name in named:
        try:
            target = parse_target(str(name).strip(), GoldLocation("the answer"))
        except GoldError as error:
            return Rejection(where, error.message, human)
        refs = code.definitions_of(target)
        if code.resolve(target) is None:
            return Rejection(where, f"{target.anchor} is not in the corpus", human)
        if not refs or not all(code.can_be_target(ref) for ref in refs):
            return Rejection(where, f"{target.anchor} is not a definition in project code", human)
        targets[target.anchor] = target
    notes = (f"the model's reason: {why}",) if why and private_part(why, known=code.names) is None else ()
    forms = {"keyword": keyword} if keyword else {}
    return Intent(human, tuple(targets.values()), _origin(endpoint, "propose"), notes=notes, forms=forms)


def ask_phrasings(intake: Intake, gold: GoldSet, endpoint: Endpoint) -> Iterator[IntakeResult]:
    """Request the missing phrasings of each query; yield results as they arrive, since a later request may fail."""
    for query in gold.queries:
        refs = [ref for target in query.targets[:1] for ref in intake.code.definitions_of(target)[:1]]
        texts = [f"{form}: {query.forms[form]}" for form in query.ordered_forms]
        code = [f"{ref.path}\n{intake.code.text(ref)}" for ref in refs]
        shown = "\n".join([*texts, "", *code])[: PhrasingRules.shown]
        for form in MADE:
            if form in query.forms or (form == "wrong_terminology" and "human" not in query.forms):
                continue
            name = f"phrase-{form}"
            answer = _ask(endpoint, name, f"Write the form called {form}.", shown).strip()
            problem = answer_problem(query, form, answer, intake.code.names)
            if problem is None:
                yield IntakeResult((phrasing_item(intake, query, Phrase(form, answer), _origin(endpoint, name)),))
            else:
                yield IntakeResult(refused=(Rejection(f"{endpoint.name}, {form} of {query.id}", problem),))


def answer_problem(query: Query, form: str, answer: str, known: frozenset[str] = frozenset()) -> str | None:
    """Return why a model's answer is an invalid phrasing, or None if it is valid; names in `known` are not private."""
    if not answer:
        return "the answer is empty"
    if "\n" in answer or not answer.isprintable():
        return "the answer has several lines or control characters"
    if len(answer) > PhrasingRules.answer:
        return f"the answer has more than {PhrasingRules.answer} characters"
    if normalize(answer) in {normalize(text) for text in query.forms.values()}:
        return "the answer repeats another phrasing"
    private = private_part(answer, known=known)
    if private is not None:
        return f"the answer contains {private}"
    if form == "wrong_terminology" and count_replacements(query.forms.get("human", ""), answer) != 1:
        return "the answer does not differ from the human phrasing in exactly one term"
    return None
